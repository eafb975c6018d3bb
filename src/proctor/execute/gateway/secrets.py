"""What usually is a secret in a conversation, as regular expressions: keys, tokens, passwords, addresses of people."""

from __future__ import annotations

USUAL_SECRETS = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----".replace(".", r"[\s\S]"),
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|npm|pypi)[-_][A-Za-z0-9_-]{16,400}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,60}",
    r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}",
    r"(?i)\b(?:bearer|basic)\s{1,4}[A-Za-z0-9+/=._~-]{12,4000}",
    r"(?i)(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)",
    r"(?i)\b(?:pass(?:word|wd|phrase)|secret|api_?key|access_?token)[\"']?\s{0,4}[:=]\s{0,4}[\"']?[^\s\"',;]{4,400}",
    r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b",
)
"""Bounded everywhere, so that no text takes long to read."""
