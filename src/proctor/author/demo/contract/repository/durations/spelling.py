"""From seconds to text."""

from durations.units import UNITS


def spell(seconds, parts=2):
    """``seconds`` as text, rounded to whole seconds, with the largest ``parts`` units that are not zero."""
    if parts < 1:
        raise ValueError("a duration has at least one part")
    sign = "-" if seconds < 0 else ""
    rest = abs(seconds)
    words = []
    for unit in UNITS[:-1]:
        count, rest = divmod(rest, unit.seconds)
        if count:
            words.append(f"{int(count)}{unit.symbol}")
    last = round(rest)
    if last or not words:
        words.append(f"{last}s")
    return sign + " ".join(words[:parts])
