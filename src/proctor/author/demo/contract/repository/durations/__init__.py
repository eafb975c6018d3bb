"""Durations as people write them: ``parse("1h 30m")`` and ``spell(5400)``."""

from durations.parsing import DurationError, parse
from durations.spelling import spell

__all__ = ["DurationError", "parse", "spell"]
