"""The units a duration is written in, from the largest to the smallest."""

from collections import namedtuple

Unit = namedtuple("Unit", "symbol seconds names")

UNITS = (
    Unit("w", 604800, ("w", "week", "weeks")),
    Unit("d", 86400, ("d", "day", "days")),
    Unit("h", 3600, ("h", "hour", "hours")),
    Unit("m", 60, ("m", "min", "minute", "minutes")),
    Unit("s", 1, ("s", "sec", "second", "seconds")),
)

SECONDS = {name: unit.seconds for unit in UNITS for name in unit.names}
