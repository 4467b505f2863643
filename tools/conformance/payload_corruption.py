"""Checks with corrupt payloads, truncated or with changed bytes: each is refused in one line, or computes something."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from xdsl.utils.exceptions import VerifyException

from flambeau.passes.delegation.interface import Backend, BackendError
from flambeau.runtime.pte import read_program, write_program
from flambeau.support.lazy import Array
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.engine_requests import Request
from flambeau.tools.conformance.graph_forms import Payload

_CHANGES = 4
"""The number of times that each payload is changed."""
_EDGES = (0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 65535, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 0x7FC00000, 0x7F800000)
"""Numbers near the limits of integer fields, and two that are no finite float."""
_HEAD = 512
"""The number of bytes at the beginning that are changed as often as all others, because constants may follow."""


def changed(data: bytes, chosen: random.Random) -> bytes:
    """Returns the bytes with some numbers in them changed."""
    found = bytearray(data)
    for _ in range(chosen.randint(1, 3) if len(data) >= 4 else 0):
        last = min(len(found), chosen.choice((_HEAD, len(found)))) - 4
        place = chosen.randint(0, last)
        place = place if chosen.random() < 0.25 else place // 4 * 4
        number = int.from_bytes(found[place : place + 4], "little")
        other = chosen.choice(
            (chosen.choice(_EDGES), number + chosen.randint(-4, 4), number ^ 1 << chosen.randrange(32), chosen.randrange(64))
        )
        size = chosen.randint(1, 4)
        found[place : place + size] = (other % 2**32).to_bytes(4, "little")[:size]
    return bytes(found)


def bad_payloads(data: bytes, chosen: random.Random) -> list[tuple[bytes, bool]]:
    """Returns corrupt payloads, each with whether it must be refused: True for a payload cut to less than half."""
    cuts = [data[: chosen.randint(0, max(0, len(data) // 2 - 1))]]
    return [*((cut, True) for cut in cuts), *((changed(data, chosen), False) for _ in range(_CHANGES))]


def check_decode(backend: Backend, payloads: Sequence[Payload], chosen: random.Random) -> None:
    """Decodes bad payloads. Raises Disagreement if a payload is not refused as required."""
    for payload in payloads:
        for data, is_refused in bad_payloads(payload.data, chosen):
            try:
                payload.decoded(backend, data).verify()
            except BackendError as error:
                _check_line(str(error))
                continue
            except VerifyException as error:
                raise Disagreement(f"a bad payload decodes into invalid IR: {in_one_line(error)}") from error
            except Exception as error:
                raise Disagreement(f"a bad payload is not refused with a BackendError, but raises {in_one_line(error)}") from error
            if is_refused:
                raise Disagreement(f"{len(data)} of the {len(payload.data)} bytes of a payload are decoded")


def check_engine(engine: EngineProcess, program: bytes, calls: Sequence[Sequence[Array]], chosen: random.Random) -> None:
    """Runs programs with bad payloads. Raises Disagreement if a program is not refused as required."""
    read = read_program(program)
    (plan,) = read.execution_plan
    for index, delegate in enumerate(plan.delegates):
        data = bytes(delegate.processed)
        for bad, is_refused in bad_payloads(data, chosen):
            delegates = (*plan.delegates[:index], replace(delegate, processed=memoryview(bad)), *plan.delegates[index + 1 :])
            changed_program = replace(read, execution_plan=(replace(plan, delegates=delegates),))
            reply = engine.ask(Request(b"".join(write_program(changed_program)), calls))
            if reply.crash is not None:
                raise Disagreement(f"a program with a bad payload: {reply.crash}")
            if (refusal := reply.error or reply.absent) is not None:
                _check_line(refusal)
            elif is_refused:
                raise Disagreement(f"{len(bad)} of the {len(data)} bytes of a payload run")


def _check_line(text: str) -> None:
    if not text or "\n" in text or "Traceback" in text:
        raise Disagreement(f"a bad payload is refused with {text!r}, which is not one line of words")
