"""The payload's two readers agree on what is well formed and on what it computes."""

import random
import struct
from typing import Any

import numpy as np
import pytest

from flambeau.backends.elementwise.payload import COMPUTATIONS, Instruction, Payload, arity, read_payload
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import emit_pte

ELEMENTS = 70
X = np.linspace(-3, 3, ELEMENTS, dtype=np.float32)
Y = np.linspace(2, 0.25, ELEMENTS, dtype=np.float32)

GOOD = Payload(2, 1, 3, (ELEMENTS,), tuple(Instruction(*fields) for fields in ((0, 0, 0), (0, 1, 1), (3, 2, 0, 1), (1, 0, 2))))


def run_c(data: bytes) -> Any:
    """What the C runtime makes of a payload of two inputs and one output."""
    context = FlambeauContext()
    kind = f"tensor<{ELEMENTS}xf32>"
    blob = context.blobs.add("p", data)
    text = f"""
    func.func @forward(%x: {kind}, %y: {kind}) -> {kind} {{
      %0 = delegate.call @p(%x, %y) : ({kind}, {kind}) -> {kind}
      func.return %0 : {kind}
    }}"""
    module = parse_module(text, context).module
    first = module.body.block.first_op
    assert first is not None
    module.body.block.insert_op_before(PayloadOp("p", "FlambeauElementwise", blob), first)
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    return Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward").execute([X, Y])[0]


def run_numpy(data: bytes) -> Any:
    """What the interpreter makes of one."""
    return run_payload("FlambeauElementwise", memoryview(data), {}, [X, Y])[0]


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_numpy_and_c_mean_the_same(name: str):
    code = COMPUTATIONS[name]
    steps = ((0, 0, 0), (0, 1, 1), (code, 2, 0, arity(code) - 1), (1, 0, 2))
    data = Payload(2, 1, 3, (ELEMENTS,), tuple(Instruction(*fields) for fields in steps)).encode()
    np.testing.assert_allclose(run_c(data), run_numpy(data), rtol=2e-6, atol=1e-7)


def test_a_payload_comes_back_as_it_was():
    assert read_payload(GOOD.encode()) == GOOD


@pytest.mark.parametrize(
    "steps",
    [
        ((0, 0, 2), (1, 0, 0)),  # an input that does not exist
        ((0, 3, 0), (1, 0, 3)),  # a register that does not exist
        ((1, 0, 0),),  # a register without a value
        ((0, 0, 0), (3, 1, 0, 2), (1, 0, 1)),  # a second operand without a value
        ((0, 0, 0), (1, 1, 0)),  # an output that does not exist
        ((0, 0, 0), (1, 0, 0), (1, 0, 0)),  # an output twice
        ((0, 0, 0),),  # no output
        ((0, 0, 0), (19, 1, 0), (1, 0, 1)),  # no such operation
    ],
)
def test_both_readers_refuse_a_broken_program(steps: tuple[tuple[int, ...], ...]):
    body = b"".join(struct.pack("<BBBBf", *step, *[0] * (4 - len(step)), 0.0) for step in steps)
    both_refuse(struct.pack("<4sIIIIIIQ", b"FLEW", 2, 2, 1, 3, len(steps), 1, ELEMENTS) + body)


def both_refuse(data: bytes) -> None:
    with pytest.raises(BackendError):
        read_payload(data)
    with pytest.raises(FlambeauError, match="refuses it: its payload") as caught:
        run_c(data)
    assert caught.value.status.name == "DELEGATE_INCOMPATIBLE"


@pytest.mark.parametrize("data", [b"", b"FLEW", GOOD.encode()[:-1], GOOD.encode() + bytes(8), b"XLEW" + GOOD.encode()[4:]])
def test_both_readers_refuse_another_size_or_start(data: bytes):
    both_refuse(data)


@pytest.mark.parametrize("counts", [(0, 1, 3), (256, 1, 3), (2, 0, 3), (2, 256, 3), (2, 1, 0), (2, 1, 1 << 31)])
def test_both_readers_refuse_counts_out_of_range(counts: tuple[int, int, int]):
    good = GOOD.encode()
    both_refuse(good[:8] + struct.pack("<III", *counts) + good[20:])


def test_a_call_that_does_not_fit_its_payload_is_refused():
    other = Payload(2, 1, 3, (ELEMENTS + 1,), GOOD.instructions).encode()
    with pytest.raises(FlambeauError, match="another number of elements"):
        run_c(other)
    with pytest.raises(BackendError, match=rf"the shape \[{ELEMENTS + 1}\]"):
        run_numpy(other)
    one = Payload(1, 1, 3, (ELEMENTS,), (Instruction(0, 0, 0), Instruction(1, 0, 0))).encode()
    with pytest.raises(FlambeauError, match="more or fewer arguments"):
        run_c(one)
    with pytest.raises(BackendError, match="takes 1 input, got 2"):
        run_numpy(one)


def test_sizes_that_no_tensor_has_are_refused():
    with pytest.raises(BackendError, match=r"a payload of 'FlambeauElementwise' is damaged: .* more than the 2\^63 - 1"):
        run_numpy(Payload(2, 1, 3, (2**40, 2**40), GOOD.instructions).encode())


def test_damaged_payloads_are_refused_or_mean_the_same_to_both_readers():
    chance = random.Random(7)
    good = GOOD.encode()
    accepted = refused = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(8, len(data))] = chance.choice((0, 1, 2, 3, 9, 18, 19, 255, chance.randrange(256)))
        try:
            expected = run_numpy(bytes(data))
        except BackendError:
            refused += 1
            with pytest.raises(FlambeauError):
                run_c(bytes(data))
        else:
            accepted += 1
            np.testing.assert_allclose(run_c(bytes(data)), expected, rtol=2e-6, atol=1e-7)
    assert accepted > 10 and refused > 10
