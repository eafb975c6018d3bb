"""Spans of a line, as pairs of start and end."""


def merge(spans):
    """The spans in order, with those that overlap joined."""
    found = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def total(spans):
    """The length that spans cover together."""
    return sum(end - start for start, end in merge(spans))
