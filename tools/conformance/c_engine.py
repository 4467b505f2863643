"""The engine that is our C runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import Status
from flambeau.support.lazy import Array


def load(program: bytes) -> Callable[[Sequence[Array]], Sequence[object]]:
    """The method `forward` of a program. Raises NotImplementedError where something is not here that it needs, FlambeauError."""
    try:
        method = Runtime.get().load_program(program).load_method("forward")
    except FlambeauError as error:
        if error.status == Status.NOT_FOUND:
            raise NotImplementedError(str(error)) from error
        raise
    return method.execute
