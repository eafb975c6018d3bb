"""What every section of a report must do."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from html import escape
from typing import Any

from proctor.present.html.package_section import package_section
from proctor.present.html_markup import Markup
from proctor.present.package_sections import MadeSection, make_sections

FINDINGS: Mapping[str, Any] = {
    "kind": "proctor.findings",
    "schema": 1,
    "source": {"kind": "results", "name": "example", "rows": 4, "agents": 2, "tasks": 2},
    "agents": [
        {"agent": "one", "attempted": 2, "tasks": 2, "counts": {"success": 2}},
        {"agent": "<b>two</b>", "attempted": 2, "tasks": 2, "counts": {"success": 1, "failure": 1}},
    ],
    "runs": [],
}


class ReportSectionSuite:
    """Subclass with the ``name`` of a section; ``findings`` are those that it is shown with."""

    name: str
    findings: Mapping[str, Any] = FINDINGS

    def made(self, findings: Mapping[str, Any]) -> MadeSection:
        """The section of a report on ``findings``, checked."""
        (made,) = make_sections((self.name,), findings)
        return made

    def test_it_shows_something(self) -> None:
        made = self.made(self.findings)
        assert made.blocks and made.title, made

    def test_the_same_findings_give_the_same_section_and_are_left_alone(self) -> None:
        before = deepcopy(dict(self.findings))
        one, other = self.made(self.findings), self.made(self.findings)
        assert one == other, (one, other)
        assert self.findings == before, "blocks() changes its findings"

    def test_a_part_that_is_missing_does_not_matter(self) -> None:
        for name in ("agents", "runs", "source"):
            assert self.made({key: value for key, value in self.findings.items() if key != name}).blocks, name

    def test_it_becomes_a_part_of_the_page_that_names_its_package(self) -> None:
        made = self.made(self.findings)
        section = package_section(made)
        assert isinstance(section.body, Markup) and escape(str(made.package), quote=False) in section.body, section.body
        assert "<script" not in section.body and "<b>two" not in section.body, section.body
