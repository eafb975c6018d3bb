"""From a table of runs to findings: rates, certainty, costs, and what the data do not support.

Call :func:`proctor.study.analysis.findings.findings`. The other modules each make one part of it from the same
:class:`~proctor.study.analysis.outcome_counts.Cells`. All of it is pure: no clock, no machine, one fixed seed. The
order of the rows and the names of agents change nothing but labels.
"""
