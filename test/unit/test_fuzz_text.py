"""A short round of each campaign in test/fuzz that reads texts."""

from __future__ import annotations

import pytest
from fuzz import text
from fuzz.campaign import Campaign, run


@pytest.mark.parametrize(("campaign", "cases"), [(text.CAMPAIGN, 120)], ids=["text"])
def test_a_short_round_finds_nothing(campaign: Campaign, cases: int) -> None:
    assert run(campaign, range(cases)).failures == {}
