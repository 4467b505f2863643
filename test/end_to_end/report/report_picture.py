"""Makes docs/assets/report.png, a picture of the page of `flambeau report` for a small model; needs chromium.

PYTHONPATH=test python test/end_to_end/report/report_picture.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[3]
PICTURE = ROOT / "docs" / "assets" / "report.png"


def main() -> None:
    """Writes the report, and the picture of its first tab."""
    browser_path = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit("there is no chromium or google-chrome on the PATH, whose picture of the page this would be")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = Path(folder) / "report.html"
        flambeau = Path(sys.executable).parent / "flambeau"
        arguments = ["test/models.py:digits_cnn", "--iterations", "200", "-o", str(page_file)]
        subprocess.run([flambeau, "report", *arguments], cwd=ROOT, check=True)
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1200, "height": 640}, color_scheme="light").new_page()
        page.goto(page_file.as_uri())
        page.wait_for_selector("body[data-ready]")
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
