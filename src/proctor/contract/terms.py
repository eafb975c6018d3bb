"""From the fields of ``policy``, ``budget`` and a step's ``network`` to the terms that a run is held to."""

from __future__ import annotations

from types import MappingProxyType

from proctor.base.fields import EMPTY
from proctor.contract.codes import DECIDED, GRADED, TRIPPED, WORD_RULES, is_graded
from proctor.contract.kinds import did_you_mean, quoted
from proctor.contract.named import CASSETTE_BYTES, NamedFiles
from proctor.contract.policy import (
    Ask,
    Budget,
    Checkpoints,
    Dependencies,
    Network,
    Policy,
    Rollback,
    Stages,
    Words,
)
from proctor.contract.shapes import Part
from proctor.contract.strict_yaml import Report
from proctor.contract.texts import CODES


class Terms:
    """Reads the policy and the budget of one contract."""

    def __init__(self, files: NamedFiles, report: Report) -> None:
        self.files = files
        self.report = report

    def policy(self, part: Part) -> Policy:
        """The policy; a cassette is read and digested, and codes are known ones."""
        self._known_rules(part)
        return Policy(
            **{
                **part,
                "network": self._network(part["network"]),
                "stages": Stages(**part["stages"]),
                "dependencies": Dependencies(**part["dependencies"]),
                "words": Words(**part["words"]),
                "ask": tuple(Ask(**one) for one in self._once(part["ask"], "is asked about twice")),
                "checkpoints": None if part["checkpoints"] is None else Checkpoints(**part["checkpoints"]),
                "rollback": tuple(Rollback(**one) for one in self._once(part["rollback"], "is rolled back twice")),
                "rules": MappingProxyType(dict(part["rules"])) if part["rules"] else EMPTY,
            }
        )

    def budget(self, part: Part) -> Budget:
        """The budget."""
        return Budget(**part)

    def setup_network(self, step: Part) -> Network:
        """The network of a setup step, which is closed: other ways are refused until they are carried out."""
        value = step["network"]
        if isinstance(value, Part) and value.variant:
            words = f"setup cannot use the network yet, so {quoted(value.variant)} is not carried out"
            self.report.add(step.place("network"), words, "write none, and declare under inputs what it needs")
        return Network()

    def _network(self, value: Part | str) -> Network:
        """What of the network is open; closed also after a mistake."""
        if isinstance(value, str) or not value.variant:
            return Network()
        if value.variant == "replay":
            return Network(replay=self.files.file(value.place("replay"), value["replay"], CASSETTE_BYTES)[0])
        return Network(value["allow"], value["record"] if value.variant == "record" else "")

    def _known_rules(self, part: Part) -> None:
        """Report what is graded or switched off and is nothing that is told."""
        for code in part["rules"]:
            if not CODES.matches(code) or is_graded(code):
                continue
            if code in TRIPPED:
                words, hint = f"the grade of {quoted(code)} is set by its breaker", "leave it out"
            else:
                words = f"nothing has the code {quoted(code)}"
                hint = did_you_mean(code, (*GRADED, "syscall-*", "words-*"))
            self.report.add((part.place("rules").keys or {})[code], words, hint)
        off: Part = part["words"]
        for index, rule in enumerate(off["off"]):
            if rule and rule not in WORD_RULES:
                words = f"no rule on words is called {quoted(rule)}"
                self.report.add(off.place("off").value[index], words, did_you_mean(rule, WORD_RULES))

    def _once(self, parts: tuple[Part, ...], words: str) -> tuple[Part, ...]:
        """The parts, in whose ``on`` only known codes stand, and none twice."""
        seen: set[str] = set()
        for part in parts:
            for index, code in enumerate(part["on"]):
                place = part.place("on").value[index]
                if code and code in seen:
                    self.report.add(place, f"{quoted(code)} {words}")
                elif code and code not in DECIDED:
                    self.report.add(place, f"no alert has the code {quoted(code)}", did_you_mean(code, DECIDED))
            seen.update(part["on"])
        return parts
