"""The report in a real browser: it asks for nothing, complains of nothing, and everybody can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from proctor.present.html import page
from tests.present.html.opened import browser as started
from tests.present.html.opened import fetched_axe, opened, overhang, violations
from tests.present.html.test_page import BARE, VERSUS, hostile
from tests.present.sample import findings, ranking

pytestmark = pytest.mark.browser

SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "few": lambda: {**findings(runs=60), "versus": VERSUS},
    "many": ranking,
    "bare": lambda: BARE,
    "hostile": lambda: {**hostile(findings(2, runs=20)), "kind": "proctor.findings"},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fetched_axe(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, made in SAMPLES.items():
        (folder / f"{name}.html").write_bytes(page(made()))
    return {name: folder / f"{name}.html" for name in SAMPLES}


def test_axe_finds_what_is_wrong(browser: Browser, axe: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.html"
    broken = page(findings(2, runs=4)).replace(b'role="img"', b'role="img" tabindex="3"')
    file.write_bytes(broken.replace(b'<html lang="en">', b"<html>"))
    with opened(browser, file) as seen:
        assert {found.partition(":")[0] for found in violations(seen.page, axe)} >= {"html-has-lang", "tabindex"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_asks_for_nothing_and_axe_finds_nothing(
    browser: Browser, axe: str, files: dict[str, Path], name: str, scheme: str
) -> None:
    with opened(browser, files[name], color_scheme=scheme) as seen:
        assert violations(seen.page, axe) == []
        assert seen.asked == [files[name].as_uri()]
        assert seen.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_is_folded_away_nor_on_a_narrow_screen(
    browser: Browser, axe: str, files: dict[str, Path], scheme: str
) -> None:
    with opened(browser, files["few"], 360, color_scheme=scheme) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert violations(seen.page, axe) == []
        assert overhang(seen.page) == 0


def test_axe_finds_nothing_in_print(browser: Browser, axe: str, files: dict[str, Path]) -> None:
    with opened(browser, files["few"], color_scheme="dark") as seen:
        seen.page.emulate_media(media="print")
        assert violations(seen.page, axe) == []
        assert not seen.page.locator("nav").is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        seen.page.emulate_media(media=None)
        assert seen.page.pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_page_scrolls_sideways(browser: Browser, files: dict[str, Path], name: str, width: int) -> None:
    with opened(browser, files[name], width) as seen:
        assert overhang(seen.page) == 0


def test_the_first_screen_holds_the_decision_and_its_cards(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"]) as seen:
        for part in seen.page.locator("h1, .verdict, .glance, .card").all():
            box = part.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 800


def test_a_page_reads_in_full_without_its_script(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"], place="#r7", java_script_enabled=False) as seen:
        assert seen.page.locator("#r7").is_visible()
        assert seen.page.locator("th button").count() == 0
        assert seen.page.locator("#agents table tbody tr").first.is_visible()


def test_a_number_leads_to_its_runs(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"]) as seen:
        seen.page.locator("#agents table a.n").first.click()
        entry = seen.page.locator(":target")
        assert entry.is_visible()
        assert "careful-coder" in entry.locator("h3").inner_text()
        entry.locator("summary").click()
        entry.locator(".runlist a").first.click()
        assert "careful-coder" in seen.page.locator("tr:target").inner_text()


def test_columns_sort_by_their_numbers(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"]) as seen:
        table = seen.page.locator("#agents table").first
        button = table.locator("thead th button").nth(2)
        button.press("Enter")
        assert table.locator("thead th").nth(2).get_attribute("aria-sort") == "ascending"
        assert table.locator("tbody th").first.inner_text() == "no-op"
        button.press("Enter")
        assert table.locator("thead th").nth(2).get_attribute("aria-sort") == "descending"
        assert table.locator("tbody th").first.inner_text() == "careful-coder"


def test_runs_are_filtered_by_a_word(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"], place="#r1") as seen:
        rows = seen.page.locator("table.runs tbody tr:visible")
        assert rows.count() == 60
        seen.page.locator(".filter input").fill("quick-fix")
        assert rows.count() == 15


def test_the_keyboard_skips_to_the_decision(browser: Browser, files: dict[str, Path]) -> None:
    with opened(browser, files["few"]) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.className") == "skip"
        seen.page.keyboard.press("Enter")
        assert seen.page.evaluate("document.activeElement.id") == "main"


def test_the_keyboard_stops_at_frames_that_scroll_and_at_no_others(browser: Browser, files: dict[str, Path]) -> None:
    wrong = """() => Array.from(document.querySelectorAll('.scroll')).filter(
        frame => (frame.tabIndex === 0) !== (frame.scrollWidth > frame.clientWidth)).length"""
    for width in (360, 1280):
        with opened(browser, files["few"], width) as seen:
            seen.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
            seen.page.wait_for_function(f"({wrong})() === 0")
            assert seen.page.locator(".scroll").count() > 15


def test_the_policy_holds_back_what_a_text_might_start(browser: Browser, files: dict[str, Path]) -> None:
    plant = """() => new Promise(done => {
        document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective))
        document.body.insertAdjacentHTML('beforeend', '<img src="x" onerror="alert(1)">')
    })"""
    with opened(browser, files["few"]) as seen:
        assert seen.page.evaluate(plant) in ("img-src", "script-src-attr")
