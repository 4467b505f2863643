"""Small random programs with branches and loops, of the seeds 40 to 199, on every engine; test_fuzz_text.py has those before."""

from __future__ import annotations

import pytest
from fuzz.campaign import run
from fuzz.regions import SMALL_STOCK
from shares import drawn

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_give_what_pytorch_gives(part: int) -> None:
    assert run(SMALL_STOCK, drawn(range(40, 200))[part::PARTS]).failures == {}
