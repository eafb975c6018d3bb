import sizes


def test_plain_number():
    assert sizes.parse("17") == 17


def test_unit_after_a_space():
    assert sizes.parse("2 KiB") == 2048
    assert sizes.parse(" 3 GiB ") == 3 * 1024**3


def test_rendered_with_the_largest_unit():
    assert sizes.render(4096) == "4 KiB"
    assert sizes.render(0) == "0 B"
