"""Generates tokens with a program that has the methods `prefill` and `decode`: the loop, and the choice of the next token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

_MASK = (1 << 64) - 1


class Method(Protocol):
    """A method of a program, in Flambeau's runtime or in ExecuTorch's."""

    def execute(self, inputs: Any, /) -> Any:
        """Runs the method and returns the outputs."""
        ...


@dataclass
class Sampler:
    """A sampler of the next token from logits, with the choices of `flambeau-run-llm`."""

    temperature: float = 0.0
    """The temperature of the softmax; 0 chooses the most likely token."""
    top_k: int = 0
    """The number of most likely tokens to choose from; 0 for all tokens."""
    top_p: float = 1.0
    """The total probability of the most likely tokens to choose from; 1 for all tokens."""
    seed: int = 0

    def next(self, logits: Any) -> int:
        """Returns the number of the next token for logits, [vocabulary]."""
        arrays: Any = np
        if not self.temperature > 0:
            return int(arrays.argmax(logits))
        order = arrays.arange(len(logits))
        if 0 < self.top_k < len(logits) or self.top_p < 1:
            order = arrays.argsort(-logits, kind="stable")[: self.top_k or None]
        weights = arrays.exp((logits[order].astype(np.float64) - float(logits.max())) / self.temperature)
        sums = arrays.cumsum(weights)
        if self.top_p < 1:
            sums = sums[: int(arrays.searchsorted(sums, self.top_p * sums[-1])) + 1]
        place = int(arrays.searchsorted(sums, self._draw() * sums[-1], side="right"))
        return int(order[min(place, len(sums) - 1)])

    def _draw(self) -> float:
        """Returns a random number in [0, 1), by splitmix64."""
        self.seed = z = (self.seed + 0x9E3779B97F4A7C15) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return math.ldexp((z ^ (z >> 31)) >> 11, -53)


def generate(
    prefill: Method, decode: Method, prompt: Sequence[int], *, at_once: int, context: int, ends: Sequence[int] = (), sampler: Sampler
) -> Iterator[int]:
    """Yields the tokens after a prompt, until one of `ends` or until the cache is full.

    `at_once` is the number of tokens that `prefill` takes at once: longer prompts are split.
    """
    import torch

    if not 0 < len(prompt) <= context:
        raise ValueError(f"a prompt has 1 to {context} tokens, not {len(prompt)}")
    position, logits = 0, np.empty(0)
    while position < len(prompt):
        part = prompt[position : position + at_once]
        method = decode if len(part) == 1 else prefill
        logits = np.asarray(method.execute((torch.tensor([part]), torch.tensor([position])))[0])[0]
        position += len(part)
    while True:
        token = sampler.next(logits)
        yield token
        if token in ends or position == context:
            return
        logits = np.asarray(decode.execute((torch.tensor([[token]]), torch.tensor([position])))[0])[0]
        position += 1
