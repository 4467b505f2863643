"""Tests the code in these pages: `pytest docs`."""

from pathlib import Path

from documents import documents_in

pytest_collect_file = documents_in(Path(__file__).parent)
