"""Figures drawn by hand as SVG: each is a function from plain rows to one ``<svg>`` with a title and a description.

Colours come from ``look.css``, which pages include and ``canvas.standalone`` embeds; they follow the reader's scheme.
No figure tells anything by colour alone, and none stands without a table of the same numbers beside it.
"""
