"""From the fields of ``policy``, ``budget`` and a step's ``network`` to the terms that a run is held to."""

from __future__ import annotations

from types import MappingProxyType

from proctor.base.frozen import EMPTY
from proctor.contract.kinds import quoted
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


class Terms:
    """Reads the policy and the budget of one contract."""

    def __init__(self, files: NamedFiles, report: Report) -> None:
        self.files = files
        self.report = report

    def policy(self, part: Part) -> Policy:
        """The policy; a cassette is read and digested, and no alert is asked about twice."""
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

    def _once(self, parts: tuple[Part, ...], words: str) -> tuple[Part, ...]:
        """The parts, in whose ``on`` no code may stand twice."""
        seen: set[str] = set()
        for part in parts:
            for index, code in enumerate(part["on"]):
                if code and code in seen:
                    self.report.add(part.place("on").value[index], f"{quoted(code)} {words}")
            seen.update(part["on"])
        return parts
