"""The estimators: pure functions on arrays. Tasks are the clusters; an undefined estimate has a reason.

Nothing here reads a file, depends on runs or draws an unseeded number. Each estimator is in the file of its name;
``docs/statistics.md`` says why each was chosen.
"""
