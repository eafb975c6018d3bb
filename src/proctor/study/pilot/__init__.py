"""Pilots: a question, the agents, the tasks, the number of runs and the rules, frozen before the first run."""
