"""From the fields of checks, reference and score to the oracle, with the checks that need several fields together."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from proctor.base.dataclass_fields import EMPTY
from proctor.contract.composite_types import Part
from proctor.contract.model import Check, Hidden, Input, Inverted, NamedFile, Reference, Rerun, Score, Sentinel
from proctor.contract.named_files import PATCH_BYTES, NamedFiles
from proctor.contract.scalar_types import did_you_mean, quoted
from proctor.contract.strict_yaml import Node, Report

SHELL = ("/bin/sh", "-eu", "-c")
NOTHING = ("/bin/true",)


def command(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """A command as arguments; text goes to the shell."""
    return (*SHELL, value) if isinstance(value, str) else value


class ChecksReader:
    """Reads the checks, the reference and the score of one contract."""

    def __init__(self, files: NamedFiles, inputs: Sequence[Input], report: Report) -> None:
        self.files = files
        self.inputs = {one.name: one for one in inputs}
        self.report = report

    def checks(self, parts: tuple[Part, ...]) -> tuple[Check, ...]:
        """The checks in their order; ids are unique and at least one check decides something."""
        seen: set[str] = set()
        for part in parts:
            if part["id"] and part["id"] in seen:
                self.report.add(part.place("id"), f"a second check called {quoted(part['id'])}", "ids are unique")
            seen.add(part["id"])
        checks = tuple(self._check(part) for part in parts)
        if checks and not any(check.mandatory and not check.no_op for check in checks):
            self.report.add(parts[0].node, "no check is mandatory", "without one every patch would be accepted")
        return checks

    def _check(self, part: Part) -> Check:
        must_file, must_pass = self._ids(part, "must_pass")
        keep_file, keep_passing = self._ids(part, "keep_passing")
        for name in sorted(set(must_pass) & set(keep_passing))[:5]:
            self.report.add(part.place("keep_passing"), f"{quoted(name)} is in must_pass and in keep_passing")
        if part["no_op"] and part["gate"] == "acceptance":
            self.report.add(part.place("no_op"), "the acceptance gate cannot be empty", "only build and static can")
        return Check(
            id=part["id"],
            gate=part["gate"],
            run=NOTHING if part["no_op"] else command(part["run"]),
            layer=part["layer"],
            mandatory=part["mandatory"],
            directory=part["directory"],
            timeout_seconds=part["timeout_seconds"],
            results=part["results"],
            results_file=part["results_file"],
            must_pass=must_pass,
            keep_passing=keep_passing,
            hidden=tuple(self._hidden(inner) for inner in part["hidden"]),
            variables=MappingProxyType(part["variables"]) if part["variables"] else EMPTY,
            rerun=self._rerun(part["rerun"]),
            sentinel=self._sentinel(part["sentinel"]),
            no_op=part["no_op"],
            must_pass_file=must_file,
            keep_passing_file=keep_file,
            flake_tolerance=self._tolerance(part),
            inverted=self._inverted(part["inverted"]),
        )

    def _tolerance(self, part: Part) -> str:
        value: str = part["flake_tolerance"]
        if value and _trillionths(value) >= _trillionths("0.5"):
            message = f"{value} is not a valid tolerance: it must be below 0.5"
            self.report.add(part.place("flake_tolerance"), message)
        return value

    def _ids(self, part: Part, name: str) -> tuple[NamedFile | None, tuple[str, ...]]:
        """Test ids, given here or in a file."""
        value = part[name]
        if isinstance(value, Part):
            return self.files.ids(value.place("file"), value["file"])
        return None, value

    def _rerun(self, part: Part) -> Rerun:
        if part["decide"] in ("majority", "any") and part["times"] == 1:
            self.report.add(part.node, f"'decide: {part['decide']}' needs more than one attempt", "give times")
        return Rerun(part["times"], part["decide"])

    def _inverted(self, part: Part) -> Inverted:
        places = part.place("variants").value if part["variants"] else ()
        files = tuple(
            self.files.file(place, path, PATCH_BYTES)[0]
            for place, path in zip(places, part["variants"], strict=True)
            if path
        )
        return Inverted(part["draws"], command(part["run"]) if part["run"] else (), files)

    def _sentinel(self, part: Part | None) -> Sentinel | None:
        """The sentinel; its template is a file unless it spans lines or holds a placeholder."""
        if part is None:
            return None
        template: str = part["template"]
        file = None
        if template and "\n" not in template and "{passing}" not in template:
            file, template = self.files.text(part.place("template"), template)
        wanted = {"template": (template, ("{passing}", "{failing}")), "at": (part["at"], ("{name}",))}
        for name, (text, marks) in wanted.items():
            for mark in marks:
                if text and mark not in text:
                    self.report.add(part.place(name), f"'{name}' does not contain {mark}")
        if part["passing_id"] == part["failing_id"]:
            self.report.add(part.place("failing_id"), "'passing_id' and 'failing_id' are the same")
        return Sentinel(template, part["at"], part["arguments"], part["passing_id"], part["failing_id"], file)

    def _hidden(self, part: Part) -> Hidden:
        """Hidden files: from a judge input, or from a directory of the contract."""
        origin, place = part["from"], part.place("from")
        taken = (part["paths"], part["strip"], part["to"])
        is_directory = bool(origin) and self.files.is_directory(origin)
        if origin in self.inputs:
            if is_directory:
                self.report.add(place, f"{quoted(origin)} is an input and a directory", "rename one of them")
            self._judge_only(place, origin)
            return Hidden(origin, "", (), *taken)
        if is_directory:
            return Hidden("", origin, self.files.tree(place, origin), *taken)
        if origin:
            message = f"{quoted(origin)} is neither an input nor a directory of the contract"
            self.report.add(place, message, did_you_mean(origin, self.inputs))
        return Hidden()

    def reference(self, part: Part | None) -> Reference | None:
        """The known solution, if the contract has one."""
        if part is None or not part.variant:
            return None
        others = tuple(
            self.files.file(part.place("alternatives").value[index], path, PATCH_BYTES)[0]
            for index, path in enumerate(part["alternatives"])
            if path
        )
        if part.variant == "patch":
            patch = self.files.file(part.place("patch"), part["patch"], PATCH_BYTES)[0]
            return Reference(patch, alternatives=others)
        origin, place = part["from"], part.place("from")
        if origin in self.inputs:
            self._judge_only(place, origin)
        elif origin:
            self.report.add(place, f"{quoted(origin)} is not an input", did_you_mean(origin, self.inputs))
        return Reference(None, origin, part["paths"], part["strip"], part["to"], others)

    def _judge_only(self, place: Node, name: str) -> None:
        if self.inputs[name].audience == "setup":
            message = f"the input {quoted(name)} is shown to setup, where the agent could find it"
            self.report.add(place, message, "mark it 'for: judge'")

    def score(self, part: Part, checks: Sequence[Check]) -> Score:
        """The rubric; its weights sum to 1 and its checks exist."""
        weights: Part = part["weights"]
        values = (weights["minimality"], weights["trace"], weights["maintainability"])
        if all(values) and sum(map(_trillionths, values)) != _trillionths("1"):
            self.report.add(part.place("weights"), f"the weights {' + '.join(values)} do not sum to 1")
        named = part["maintainability"]
        known = {check.id for check in checks}
        for index, name in enumerate(named):
            if name and name not in known:
                place = part.place("maintainability").value[index]
                self.report.add(place, f"{quoted(name)} is not a check", did_you_mean(name, known))
        if values[2] not in ("0", "") and not named:
            self.report.add(weights.place("maintainability"), "maintainability has a weight but no checks measure it")
        return Score(part["lambda"], *values, named)


def _trillionths(value: str) -> int:
    """A decimal of the contract, which has at most twelve places, as a whole number."""
    whole, _, fraction = value.partition(".")
    return int(whole + fraction.ljust(12, "0"))
