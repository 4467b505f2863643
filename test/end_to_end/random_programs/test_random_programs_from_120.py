"""Small random programs with branches and loops, of the seeds 120 to 199, on every engine; test_fuzz_text.py has those before."""

from __future__ import annotations

import pytest
from fuzz.campaign import run
from fuzz.regions import SMALL_STOCK


@pytest.mark.parametrize("seed", range(120, 200, 8))
def test_eight_programs_give_what_pytorch_gives(seed: int) -> None:
    assert run(SMALL_STOCK, range(seed, seed + 8)).failures == {}
