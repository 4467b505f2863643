"""A short round of each campaign in test/fuzz."""

from __future__ import annotations

import pytest
from fuzz import changed, command_line, editor, irdl, jumps, passes, planted, regions, text, unusual
from fuzz.campaign import Campaign, run

ROUNDS = {
    "text": (text.CAMPAIGN, 50),
    "irdl": (irdl.CAMPAIGN, 60),
    "command_line": (command_line.CAMPAIGN, 30),
    "editor": (editor.CAMPAIGN, 8),
    "passes": (passes.CAMPAIGN, 1),
    "changed": (changed.CAMPAIGN, 40),
    "planted": (planted.CAMPAIGN, 6),
    "unusual": (unusual.CAMPAIGN, 12),
    "jumps": (jumps.CAMPAIGN, 6),
    "regions": (regions.CAMPAIGN, 2),
    "small regions": (regions.SMALL, 40),
}


@pytest.mark.parametrize(("campaign", "cases"), list(ROUNDS.values()), ids=list(ROUNDS))
def test_a_short_round_finds_nothing(campaign: Campaign, cases: int) -> None:
    assert run(campaign, range(cases)).failures == {}
