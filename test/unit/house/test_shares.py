"""Ten shares in a row hold every item that is drawn from, and every trial."""

from __future__ import annotations

import pytest
from shares import SHARES, Share, block, dealt, drawn, share_of

SHARES_IN_A_ROW = [Share(number, "") for number in range(SHARES)]


@pytest.mark.parametrize("count", [0, 1, 3, 10, 105])
@pytest.mark.parametrize("parts", [2, 3, SHARES])
def test_ten_shares_hold_every_item(count: int, parts: int):
    shares = [drawn(range(count), parts=parts, of=each) for each in SHARES_IN_A_ROW]
    assert {item for items in shares for item in items} == set(range(count))
    assert all(shares) or not count
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert drawn(range(count), parts=parts, of=Share(None, "")) == list(range(count))


@pytest.mark.parametrize("ways", ["ab", "abc", "abcdefghij"])
def test_each_share_holds_every_item_and_ten_hold_it_in_every_way(ways: str):
    shares = [dealt(range(7), ways, of=each) for each in SHARES_IN_A_ROW]
    assert all([item for item, _ in pairs] == list(range(7)) for pairs in shares)
    whole = dealt(range(7), ways, of=Share(None, ""))
    assert {pair for pairs in shares for pair in pairs} == set(whole) and len(whole) == 7 * len(ways)


def test_ten_shares_hold_every_trial_once():
    assert [number for each in SHARES_IN_A_ROW for number in block(66, of=each)] == list(range(66))
    assert block(66, of=Share(None, "")) == range(66)


def test_commits_in_a_row_have_shares_in_a_row():
    assert share_of("all").number is None and share_of("7").number == 7
    assert share_of("HEAD").number == share_of("").number
