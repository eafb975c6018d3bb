"""The reference agent that comes with Proctor: a program for the inside of a sandbox, and what starts it."""
