"""What the process of an engine does with a request."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from flambeau.support.lazy import Array
from flambeau.tools.conformance.engine_requests import Reply, Request

Load = Callable[..., Callable[[Sequence[Array]], Sequence[object]]]
_ROUNDS = 3


@cache
def find_function(place: str) -> Load:
    """Returns the function at `package.module:name` or `file.py:name`. Raises ImportError, AttributeError."""
    module, _, name = place.rpartition(":")
    if not module.endswith(".py"):
        return getattr(importlib.import_module(module), name)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return getattr(found, name)


def answer(engine: str, request: Request) -> Reply:
    """Runs a request on the engine at `package.module:name` or `file.py:name`, which is loaded once."""
    try:
        return Reply(results=_results(find_function(engine), request))
    except NotImplementedError as error:
        return Reply(absent=str(error))
    except Exception as error:
        return Reply(error=str(error))


def _results(load: Load, request: Request) -> list[list[list[Array]]]:
    """Returns the results of the calls of each instance."""
    instances = [load(request.program, *([request.options] if request.options else [])) for _ in range(request.instances)]

    def run(execute: Callable[[Sequence[Array]], Sequence[object]]) -> list[list[Array]]:
        return [[np.array(value) for value in execute(inputs)] for inputs in request.calls]

    if not request.threads:
        # The calls of instances are interleaved.
        found = [[[np.array(value) for value in execute(inputs)] for execute in instances] for inputs in request.calls]
        return [[call[index] for call in found] for index in range(len(instances))]
    with ThreadPoolExecutor(len(instances)) as pool:
        return [result for _ in range(_ROUNDS) for result in pool.map(run, instances)]
