"""The kinds of quantized layers and calls; each makes one of a number and of a type of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from quantized_calls import CALLS, QuantizedCall
from quantized_layers import QuantizedFunction, QuantizedLayer, QuantizedPool, QuantizedProduct, QuantizedSum

KINDS: Sequence[Callable[[int, torch.dtype | None], Any]] = (
    *(QuantizedLayer, QuantizedSum, QuantizedProduct, QuantizedFunction, QuantizedPool),
    *(partial(QuantizedCall, kind) for kind in CALLS),
)
