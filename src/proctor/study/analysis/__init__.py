"""From a table of runs to findings: what was seen, how sure it is, what it cost and what cannot be said.

:func:`proctor.study.analysis.findings.findings` is the door. The other modules each make one part of it from the same
:class:`~proctor.study.analysis.outcome_counts.Cells`. All of it is pure: no clock, no machine, one fixed seed. The
order of the rows and the names of agents change nothing but labels.
"""
