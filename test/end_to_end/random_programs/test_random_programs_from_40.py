"""Small random programs with branches and loops, of the seeds 40 to 119, on every engine; test_fuzz_text.py has those before."""

from __future__ import annotations

import pytest
from fuzz.campaign import run
from fuzz.regions import SMALL_STOCK


@pytest.mark.parametrize("seed", range(40, 120, 8))
def test_eight_programs_give_what_pytorch_gives(seed: int) -> None:
    assert run(SMALL_STOCK, range(seed, seed + 8)).failures == {}
