"""Each operator of TFLite, on its samples: LiteRT's reference kernels compute what numpy does, integers bit for bit."""

from __future__ import annotations

import pytest
from operator_models import SAMPLES, models
from vendor_tools import installed


@pytest.mark.parametrize("python", installed("litert-test"))
def test_litert_computes_each_sample(python: str) -> None:
    compared, different = models(python).differences(range(2), SAMPLES)
    assert not different
    assert set(compared) == set(SAMPLES)
