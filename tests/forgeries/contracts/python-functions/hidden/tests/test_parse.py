import pytest

import sizes


def test_no_space_is_needed():
    assert sizes.parse("2KiB") == 2048


def test_small_letters():
    found = sizes.parse("3 mib")
    assert found == 3145728
    assert isinstance(found, int)


def test_fractions():
    assert sizes.parse("1.5 KiB") == 1536
    assert sizes.parse("0.25 MiB") == 262144


def test_unknown_unit():
    with pytest.raises(ValueError, match="parsec"):
        sizes.parse("3 parsec")


def test_negative_size():
    with pytest.raises(ValueError):
        sizes.parse("-1 KiB")
