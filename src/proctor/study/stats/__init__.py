"""The estimators: pure functions on arrays. Tasks are the clusters; what cannot be estimated says why.

Nothing here reads a file, knows a run or draws an unseeded number. Each estimator is in the file that bears its name;
``docs/statistics.md`` says why each was chosen.
"""
