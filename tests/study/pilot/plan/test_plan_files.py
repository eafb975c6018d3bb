"""The artefacts of a plan: all of them, the same each time, and readable."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import pytest

from proctor.base.canonical import parse, parse_canonical
from proctor.base.errors import InfrastructureFault
from proctor.judge.scoring_rubric import columns
from proctor.study.pilot.plan import plan_files as made
from proctor.study.pilot.plan.plan_files import BOTTOM, HEIGHT, LEFT, Line, make_artefacts, svg
from proctor.study.pilot.plan.randomisation import Design, Slot, randomise
from tests.study.pilot.planning import protocol

NAMES = {
    *("randomisation.csv", "power.json", "power.csv", "power.svg", "projection.csv", "projection.json"),
    *("projection.svg", "cost_model.csv", "cost_inputs.json", "rubric.csv", "rubric.json", "taxonomy.jsonl"),
    *("sanity.json", "monotonicity.json"),
}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return make_artefacts(protocol())


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_every_artefact_is_there(files: dict[str, bytes]) -> None:
    assert set(files) == NAMES
    for name, data in files.items():
        assert data, name
        if name.endswith(".json") and name != "rubric.json":
            parse_canonical(data)


def test_the_same_protocol_gives_the_same_bytes(files: dict[str, bytes]) -> None:
    assert make_artefacts(protocol()) == files


def test_another_seed_gives_another_order_and_says_so(files: dict[str, bytes]) -> None:
    seeds = {**protocol()["seeds"], "observed": 1}
    other = make_artefacts(protocol(seeds=seeds))
    assert other["randomisation.csv"] != files["randomisation.csv"]
    assert parse(other["power.json"])["seed"] == 1
    assert other["projection.json"] == files["projection.json"], "what a plan costs is no matter of order"


def test_the_projection_goes_block_by_block(files: dict[str, bytes]) -> None:
    table, order = rows(files["projection.csv"]), rows(files["randomisation.csv"])
    assert [row["block"] for row in table] == list(dict.fromkeys(row["block"] for row in order))
    assert table[-1]["runs_so_far"] == str(len(order)) == "36"
    assert table[-1]["expected_usd_so_far"] == parse(files["projection.json"])["usd"]["expected"]


def test_the_cost_model_adds_up_to_a_run(files: dict[str, bytes]) -> None:
    from decimal import Decimal

    lines = [row for row in rows(files["cost_model.csv"]) if (row["task"], row["method"]) == ("a", "noop")]
    assert {row["part"] for row in lines} == {"execution", "overhead"}
    units = sum(Decimal(row["amount"]) for row in lines)
    baseline = Decimal(parse(files["projection.json"])["by_method"]["noop"]["expected"])
    assert units / 1000 * 12 == baseline
    for row in lines:
        assert Decimal(row["quantity"]) * Decimal(row["unit_price"]) == Decimal(row["amount"])


def test_power_over_tasks(files: dict[str, bytes]) -> None:
    table = rows(files["power.csv"])
    assert {row["tasks"] for row in table} >= {"4", "5", "1000"}
    assert all(0 <= float(row["power"]) <= 1 for row in table)


def test_the_forms_for_reviewers_come_along(files: dict[str, bytes]) -> None:
    assert files["rubric.csv"].decode().strip().split(",") == columns()
    assert all(parse(line)["id"] for line in files["taxonomy.jsonl"].splitlines())
    assert parse(files["rubric.json"])["gates"]


def test_reports_on_the_plan(files: dict[str, bytes]) -> None:
    sanity, monotone = parse(files["sanity.json"]), parse(files["monotonicity.json"])
    assert set(sanity["checks"]) == {"structure", "money", "power"}
    assert all(check["held"] for check in (*sanity["checks"]["structure"], *sanity["checks"]["money"]))
    assert monotone["held"] is True


def test_a_plan_that_contradicts_itself_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(design: Design) -> tuple[Slot, ...]:
        return randomise(design)[:-1]

    monkeypatch.setattr(made, "randomise", forgetful)
    with pytest.raises(InfrastructureFault, match="contradicts itself: every run is planned once"):
        make_artefacts(protocol())


@pytest.mark.parametrize("name", ["power.svg", "projection.svg"])
def test_figures_stand_alone_and_say_what_they_show(name: str, files: dict[str, bytes]) -> None:
    root = ElementTree.fromstring(files[name])
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    titles = [root.findtext(f"{space}title"), root.findtext(f"{space}desc")]
    assert all(titles)
    lines = [one for one in root.iter(f"{space}polyline") if one.get("stroke-width") == "2"]
    dashes = [one.get("stroke-dasharray") for one in lines]
    assert len(set(dashes)) == len(dashes) / 2, "every line and its entry in the legend share a dash of their own"
    assert b"http" not in files[name].replace(b"http://www.w3.org/2000/svg", b"")


def test_the_curve_of_power_ends_where_nothing_is_gained(files: dict[str, bytes]) -> None:
    shown = ElementTree.fromstring(files["power.svg"]).findtext("{http://www.w3.org/2000/svg}desc")
    assert shown is not None
    worst = [row for row in rows(files["power.csv"]) if (row["icc"], row["correlation"]) == ("0.6000", "0.0000")]
    last = min(int(row["tasks"]) for row in worst if float(row["power"]) >= 0.99)
    assert f" at {last} (tasks)" in shown
    assert shown.endswith("wanted is at 0.8; the plan is at 4")


def test_a_figure_escapes_names_and_takes_any_size() -> None:
    data = svg("a < b", "runs & tasks", "x", [Line("<line>", ((0.0, 0.0), (3.0, 1e7)))], ("cap", 2e7))
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(data).iter()]
    assert "<line>" in texts and "a < b" in texts
    flat = svg("flat", "x", "y", [Line("nothing", ((0.0, 0.0), (1.0, 0.0)))])
    assert b"nan" not in flat


def drawn(data: bytes) -> tuple[dict[str, list[tuple[float, float]]], dict[str, float]]:
    """The lines of a figure by name and its named marks, as numbers: the texts of the ticks say what a pixel means."""
    root = ElementTree.fromstring(data)
    texts = [one for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text]
    across = [(float(one.get("x", "")), float(one.text or "")) for one in texts if one.get("y") == str(BOTTOM + 18)]
    up = [(float(one.get("y", "")) - 4, float(one.text or "")) for one in texts if one.get("x") == str(LEFT - 8)]

    def value(ticks: list[tuple[float, float]], pixel: float) -> float:
        (first, low), (last, high) = ticks[0], ticks[-1]
        return low + (pixel - first) * (high - low) / (last - first)

    def points(one: ElementTree.Element) -> list[tuple[float, float]]:
        pairs = [tuple(map(float, pair.split(","))) for pair in one.get("points", "").split()]
        return [(value(across, x), value(up, y)) for x, y in pairs]

    every = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    thick = [one for one in every if one.get("stroke-width") == "2"]
    names = [one.text or "" for one in texts if one.get("y") == str(HEIGHT - 18)]
    marks = [points(one) for one in every if one.get("stroke-dasharray") == "1 3"]
    said = [one.text or "" for one in texts if one.get("fill") == "#333333"]
    levels = [first[1] if first[1] == last[1] else first[0] for first, last in marks]
    return dict(zip(names, map(points, thick[::2]), strict=True)), dict(zip(said, levels, strict=True))


def test_p4_the_figure_of_power_shows_the_numbers_of_its_table(files: dict[str, bytes]) -> None:
    lines, marks = drawn(files["power.svg"])
    assert marks == {"wanted": pytest.approx(0.8, abs=0.001), "the plan": pytest.approx(4, abs=0.05)}
    for name, points in lines.items():
        icc = float(name.removeprefix("icc "))
        table = [row for row in rows(files["power.csv"]) if float(row["icc"]) == icc and float(row["correlation"]) == 0]
        wanted = [(float(row["tasks"]), float(row["power"])) for row in table][: len(points)]
        assert len(points) > 2 and [y for _, y in points] == pytest.approx([y for _, y in wanted], abs=0.001)
        assert [x for x, _ in points] == pytest.approx(
            [x for x, _ in wanted], abs=0.05 * max(x for x, _ in points) / 50
        )


def test_p4_the_figure_of_the_projection_shows_the_numbers_of_its_table(files: dict[str, bytes]) -> None:
    lines, marks = drawn(files["projection.svg"])
    table = rows(files["projection.csv"])
    most = max(y for points in lines.values() for _, y in points)
    for name, points in lines.items():
        assert abs(points[0][0]) < 0.05 and abs(points[0][1]) < most / 1000
        wanted = [(float(row["runs_so_far"]), float(row[f"{name}_usd_so_far"])) for row in table]
        assert [x for x, _ in points[1:]] == pytest.approx([x for x, _ in wanted], abs=wanted[-1][0] / 1000)
        assert [y for _, y in points[1:]] == pytest.approx([y for _, y in wanted], abs=marks["budget"] / 1000)
