"""Runs the command streams of Ethos-U on numpy: a process of the Python that has Vela.

It reads pickled pairs of a stream, as `bin_stream.CompiledGraph` has it, and its inputs, and writes the outputs, or the text of an error.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from npu_u55 import Array, Npu
from npu_u85 import Npu85

CONFIGURATION, STREAM = 1, 2
"""The actions of the driver that hold the accelerator and the command stream."""


def parts_of(commands: bytes) -> tuple[int, Array]:
    """Returns the register that says the accelerator, and the command stream, of the actions of a driver."""
    words = np.frombuffer(commands, "<u4")
    place, accelerator = 1, 0
    while words[place] & 0xFF != STREAM:
        if words[place] & 0xFF == CONFIGURATION:
            accelerator = int(words[place + 1])
            place += 2
        place += 1
    return accelerator, words[place + 1 :]


def run(stream: Mapping[str, Any], inputs: Sequence[Array]) -> list[Array]:
    """Runs a stream. Returns the outputs, flat."""
    accelerator, words = parts_of(stream["commands"])
    kind = Npu85 if accelerator >> 28 == 2 else Npu
    npu = kind(stream["weights"], stream["scratch"], 1 << (accelerator & 15))
    for (_, offset, region), array in zip(stream["inputs"], inputs, strict=True):
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        npu.memories[region][offset : offset + data.size] = data
    npu.run(words)
    return [npu.memories[region][offset : offset + size].copy() for size, offset, region in stream["outputs"]]


def main() -> None:
    """Answers requests until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = run(*request)
        except Exception:
            answer = traceback.format_exc()
        pickle.dump(answer, out, 4)
        out.flush()


if __name__ == "__main__":
    main()
