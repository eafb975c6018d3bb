"""Sizes as people write them."""

UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse(text):
    """The number of bytes that a size such as ``2 KiB`` means."""
    number, _, unit = text.strip().partition(" ")
    return int(number) * UNITS[unit or "B"]


def render(count):
    """A number of bytes with the largest unit that divides it."""
    for unit in reversed(UNITS):
        if count and count % UNITS[unit] == 0:
            return f"{count // UNITS[unit]} {unit}"
    return "0 B"
