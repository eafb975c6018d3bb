"""The contracts and the forgeries are material: nothing below their directories is a test of this project."""

collect_ignore = ["code", "contracts"]
