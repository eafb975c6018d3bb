"""Pilots: a question, who is compared on what, how often and under which rules, frozen before the first run."""
