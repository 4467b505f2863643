"""The page of `flambeau report` in a browser without a network: every tab, the keyboard, and the panel of an operator.

Runs in each browser that is found. Screenshots of the tabs are in `build/report`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from flambeau.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
BROWSERS = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))][:1]
TABS = ("overview", "stages", "graph", "memory", "profile", "numerics", "sizes", "partitions")
MOST_BYTES = 3_000_000

MODEL = """import sys

sys.path.insert(0, {folder!r})
import torch
from encoder import load_encoder

make = lambda: (load_encoder(), (torch.randint(1, 2000, (1, 64)), torch.ones(1, 64, dtype=torch.int64)))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of MiniLM with a backend."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "minilm.py").write_text(MODEL.format(folder=str(ROOT / "examples" / "minilm")))
    page = folder / "minilm.html"
    try:
        assert main(["report", f"{folder / 'minilm.py'}:make", "-o", str(page), "--backend", "elementwise", "--iterations", "2"]) == 0
    finally:
        sys.path.remove(str(ROOT / "examples" / "minilm"))
    return page


@pytest.fixture(params=BROWSERS)
def page(request: pytest.FixtureRequest, report: Path) -> Iterator[Page]:
    """The page, opened; fails for errors of scripts and for requests of anything but the file itself."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=request.param, args=["--no-sandbox"])
        context = browser.new_context(offline=True, viewport={"width": 1500, "height": 950})
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda sent: problems.append(sent.url) if not sent.url.startswith(("file:", "data:")) else None)
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready]")
        yield page
        browser.close()
    assert not problems


def test_the_report_is_small(report: Path) -> None:
    assert report.stat().st_size < MOST_BYTES


def test_every_tab_shows_its_part(page: Page) -> None:
    screenshots = ROOT / "build" / "report"
    screenshots.mkdir(parents=True, exist_ok=True)
    wanted = {"graph": "[role=treeitem]", "memory": ".buffer", "profile": ".point", "stages": "details.diff"}
    for tab in TABS:
        page.click(f"#tab-{tab}")
        expect(page.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        assert page.locator(f"main {wanted.get(tab, 'tbody tr')}").count() > 3, tab
        expect(page.locator("main .missing")).to_have_count(0)
        page.screenshot(path=screenshots / f"{tab}.png")


def test_the_overview_draws_the_time_of_modules(page: Page) -> None:
    bars = page.locator("main svg rect.module")
    assert 1 < bars.count() <= 12
    expect(page.locator("main dl")).to_contain_text("operator by operator; this program")


def test_an_operator_shows_its_stages_its_line_and_its_kernel(page: Page) -> None:
    page.click("#tab-profile")
    page.locator("tr.choice", has_text="aten::linear.out").first.click()
    panel = page.locator("#panel")
    expect(panel.locator("h4")).to_have_text(["aten", "core", "edge", "exec", "planned"])
    expect(panel.locator("pre.ir").nth(0)).to_contain_text("aten.linear")
    expect(panel.locator("pre.ir").nth(4)).to_contain_text('exec.call "aten::linear.out"')
    expect(panel.locator(".marked")).to_contain_text("self.")
    expect(panel).to_contain_text("fl_status fl_linear_out(")
    expect(panel).to_contain_text("time (p50)")
    page.click("#tab-memory")
    expect(page.locator(".buffer.selected")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_the_keyboard_does_everything(page: Page) -> None:
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-graph")).to_be_focused()
    focused = page.locator("[role=treeitem]:focus")
    for _ in range(12):  # past the tools, and what scrolls
        if focused.count() == 0:
            page.keyboard.press("Tab")
    while focused.get_attribute("aria-expanded") != "true":
        page.keyboard.press("ArrowDown")
    shown = page.locator("[role=treeitem]").count()
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("aria-expanded", "false")
    assert page.locator("[role=treeitem]").count() < shown
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=treeitem]")).to_have_count(shown)
    while focused.get_attribute("aria-expanded") is not None or "input" in (focused.get_attribute("class") or ""):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_visible()


def test_modules_open_in_place_and_the_whole_graph_can_be_seen(page: Page) -> None:
    page.click("#tab-graph")
    page.click("text=Open all")
    operators = page.locator(".node").count()
    assert operators > 100
    page.click("text=Close all")
    assert page.locator(".node").count() < 5
    group = page.locator(".group").first
    group.click()
    expect(page.locator(".group.open")).to_have_count(1)
    page.select_option("select", "aten")
    page.click("text=Open all")
    expect(page.locator("text=scaled_dot_product_attention").first).to_be_visible()


def test_tables_sort_by_any_column(page: Page) -> None:
    page.click("#tab-numerics")
    column = page.locator("th", has_text="max |Δ|")
    column.locator("button").click()
    expect(column).to_have_attribute("aria-sort", "descending")
    shown = [float(text) for text in page.locator("tbody tr td:nth-child(3)").all_inner_texts() if text not in ("", "?")]
    assert shown == sorted(shown, reverse=True)
