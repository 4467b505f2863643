"""A short round of each campaign in test/fuzz."""

from __future__ import annotations

import pytest
from fuzz import changed, command_line, editor, irdl, jumps, passes, planted, readers, regions, text, unusual
from fuzz.campaign import Campaign, run
from shares import drawn

ROUNDS = {
    "text": (text.CAMPAIGN, 50),
    "irdl": (irdl.CAMPAIGN, 60),
    "command_line": (command_line.CAMPAIGN, 30),
    "editor": (editor.CAMPAIGN, 8),
    "passes": (passes.CAMPAIGN, 1),
    "changed": (changed.CAMPAIGN, 40),
    "readers": (readers.CAMPAIGN, 200),
    "planted": (planted.CAMPAIGN, 6),
    "unusual": (unusual.CAMPAIGN, 12),
    "jumps": (jumps.CAMPAIGN, 6),
    "regions": (regions.CAMPAIGN, 2),
    "small regions": (regions.SMALL, 40),
}


@pytest.mark.parametrize(("campaign", "cases"), list(ROUNDS.values()), ids=list(ROUNDS))
def test_a_short_round_finds_nothing(campaign: Campaign, cases: int) -> None:
    assert run(campaign, drawn(range(cases))).failures == {}


def test_a_size_that_only_the_body_of_a_loop_tells() -> None:
    # PyTorch gives the result of `branch` a new symbol, which stands in the type of what the loop stacks.
    case = """def forward(fnx3_0, f3_3, cnx3_1):
    n = fnx3_0.shape[0]
    f3_5 = f3_3.clone()
    def region_8(f3_10): return torch.full((n,), 1, dtype=torch.float16), f3_10.clone()
    def region_13(f3_15): return torch.full((n,), 3, dtype=torch.float16), f3_5.clone()
    en_18, f3_19 = branch(f3_3.sum() > 7, region_8, region_13, (f3_3,))
    def region_32(f3_33, e_34):
        def region_35(f3_40, cx_37): return f3_40.clone(), f3_33.clone()
        f3_41, fnx3_42 = steps(region_35, f3_3.clone(), cnx3_1.clone(), reverse=False)
        def region_43(f3_44): return fnx3_0.clone(),
        def region_46(f3_47): return fnx3_42.clone(),
        fnx3_50, = branch(cnx3_1.sum() > 1, region_43, region_46, (f3_33.clone(),))
        return f3_33.clone(), fnx3_50 * 2
    f3_58, fnnx3_59 = steps(region_32, f3_3.clone(), en_18.clone(), reverse=False)
    return f3_58, fnnx3_59.sum()
"""
    assert regions.check(case) == "right on all engines"


def test_bits_and_equality_of_unsigned_integers() -> None:
    case = """def forward(w3_0, w3_1, u3_2):
    w3_3 = w3_0 ^ w3_1
    w3_4 = torch.where(w3_3 == w3_1, w3_3, w3_3 * 3) | 3
    u3_5 = torch.where(u3_2 != 1, u3_2, u3_2 * 3) & 5
    return w3_4, u3_5
"""
    assert regions.check(case) == "right on the engines of one target"


def test_complex_numbers_are_stacked_by_loops_and_kept_as_state() -> None:
    case = """def forward(f3_0, z4x3_1, q3_2):
    def region_3(z3_4): return z3_4 * (0.5 + 0.25j), q3_2.clone()
    z4x3_5, q4x3_6 = rows(region_3, z4x3_1.clone())
    result = z4x3_5.clone(), q4x3_6.clone(),
    z4x3_1.copy_(z4x3_5)
    return *result,
"""
    assert regions.check(case) == "right on all engines"


def test_complex_numbers_are_stacked_from_the_last_on() -> None:
    case = """def forward(fnx3_0, f4x3_1):
    n = fnx3_0.shape[0]
    def region_2(fnx3_3, f3_4): return fnx3_3 * f3_4, torch.full((n, 2, ), 1, dtype=torch.complex128)
    fnx3_5, q4xnx2_6 = steps(region_2, fnx3_0.clone(), f4x3_1.clone(), reverse=True)
    return fnx3_5, q4xnx2_6.real
"""
    assert regions.check(case) == "right on the engines of one target"


def test_state_is_not_in_the_tensor_that_gave_it() -> None:
    case = """def forward(f3_0):
    result = own.f3.clone(), own.f3.copy_(f3_0)
    f3_0.copy_(torch.full((3,), 3, dtype=torch.float32))
    return *result,
"""
    assert regions.check(case) == "right on all engines"
