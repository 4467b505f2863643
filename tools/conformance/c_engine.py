"""The C runtime as an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import Status
from flambeau.runtime.pte import read_program
from flambeau.support.lazy import Array


def load(program: bytes, options: Mapping[str, str] | None = None) -> Callable[[Sequence[Array]], Sequence[object]]:
    """Loads `forward` of a `.pte`. Raises NotImplementedError if this runtime lacks a kernel or backend, FlambeauError otherwise."""
    delegates = [delegate.id for plan in read_program(program).execution_plan for delegate in plan.delegates] if options else []
    try:
        loaded = Runtime.get().load_program(program, backend_options={name: options or {} for name in delegates})
        method = loaded.load_method("forward")
    except FlambeauError as error:
        if error.status == Status.NOT_FOUND:
            raise NotImplementedError(str(error)) from error
        raise
    return method.execute
