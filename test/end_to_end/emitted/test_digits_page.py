"""The page that runs the network of digits: drawn digits are told apart, offline, and the numbers are those of this machine."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from board import boards
from digits import TRAINING, digits, trained_cnn
from digits_page import write_page
from playwright.sync_api import Page, expect, sync_playwright

IS_BUILT = boards()["wasm"].missing is None
BROWSERS = [path for name in ("chromium", "google-chrome") if IS_BUILT and (path := shutil.which(name))][:1]


@pytest.fixture(scope="module", params=BROWSERS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path: Path = tmp_path_factory.mktemp("page") / "digits.html"
    write_page(path)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=request.param, args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        opened = context.new_page()
        opened.goto(path.as_uri())
        opened.wait_for_selector("body[data-ready]")
        yield opened
        browser.close()


def _draw(page: Page, strokes: list[list[tuple[float, float]]]) -> None:
    """Draws lines between points of a square from 0 to 1."""
    page.click("#clear")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    for stroke in strokes:
        for index, (x, y) in enumerate(stroke):
            page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
            if index == 0:
                page.mouse.down()
        page.mouse.up()


def test_drawn_digits_are_told_apart(page: Page) -> None:
    ring = [(0.5 + 0.22 * math.sin(step / 4), 0.5 - 0.35 * math.cos(step / 4)) for step in range(27)]
    seven = [(0.25, 0.2), (0.72, 0.2), (0.4, 0.85)]
    for digit, strokes in (("0", [ring]), ("7", [seven])):
        _draw(page, strokes)
        expect(page.locator("#digit")).to_have_text(digit)
    assert page.locator("meter").count() == 10
    page.click("#clear")
    expect(page.locator("#digit")).to_have_text("")


def test_its_scores_are_those_of_pytorch(page: Page) -> None:
    images, _ = digits()
    for image in images[TRAINING : TRAINING + 5]:
        pixels: Any = image.flatten().numpy()
        found = page.evaluate("pixels => classify(pixels)", pixels.tolist())
        wanted = trained_cnn()(image[None])[0]
        assert torch.allclose(torch.tensor(found), wanted, rtol=0, atol=1e-4)
