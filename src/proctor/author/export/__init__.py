"""Contracts and runs in the formats of other tools. ``registry`` lists the formats, ``interface`` describes them."""
