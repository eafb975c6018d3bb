"""Findings as one HTML file that a manager reads on the first screen and an auditor below it.

Call ``page``. The file needs no network, no server and no script, and the same findings give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.base.errors import UsageFault
from proctor.present.html.budget_survival_section import survival
from proctor.present.html.comparisons_section import comparisons, versus
from proctor.present.html.costs_section import costs
from proctor.present.html.decision_section import decision
from proctor.present.html.evidence_links import Evidence, appendix, evidence_list, runs
from proctor.present.html.failures_section import funnel, modes
from proctor.present.html.package_section import package_section
from proctor.present.html.page_layout import document
from proctor.present.html.plan_and_limitations import cannot, comparability, counterfactual, deviations, plan, scope
from proctor.present.html.success_rates import agents, strata
from proctor.present.package_sections import MadeSection
from proctor.study.analysis.findings import SCHEMA

SECTIONS = (
    agents,
    comparisons,
    versus,
    strata,
    costs,
    survival,
    modes,
    funnel,
    counterfactual,
    plan,
    deviations,
    comparability,
    cannot,
    scope,
    appendix,
    evidence_list,
    runs,
)
"""The order of the page. The list of evidence comes after everything that links to it."""


def page(findings: Mapping[str, Any], more: Sequence[MadeSection] = ()) -> bytes:
    """The report on ``findings``; ``more`` are sections of installed packages, which come last."""
    if findings.get("kind") != "proctor.findings" or findings.get("schema") != SCHEMA:
        raise UsageFault(
            "these are not findings of a version that can be shown",
            hint="give the findings.json that an analysis of this version wrote",
        )
    evidence = Evidence(findings)
    every = evidence.everything()
    first = decision(findings, evidence)
    sections = [section for make in SECTIONS if (section := make(findings, evidence))]
    sections += map(package_section, more)
    return document(findings, first, sections, every).encode()
