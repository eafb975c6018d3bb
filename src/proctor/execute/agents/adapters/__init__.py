"""Adapters: one small file for each agent that people already use. How it is installed, started and given a model."""
