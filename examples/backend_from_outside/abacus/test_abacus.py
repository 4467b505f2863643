"""Checks that the C part and numpy give the same numbers, and that the device refuses bad programs. Needs cmake and a compiler."""

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import BackendError, register_backend
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.kit import FlambeauContext, ModuleOp, PassError, Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import InterpreterError, interpret
from numpy.typing import NDArray

from . import BACKEND

HERE = Path(__file__).parent
ELEMENTS = """
func.func @forward(%x: tensor<2x1x6xf32>, %y: tensor<3x1xf32>, %z: tensor<3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x6xf32>) {
  %0 = edge.add.Tensor(%x, %y) : (tensor<2x1x6xf32>, tensor<3x1xf32>) -> tensor<2x3x6xf32>
  %1 = edge.mul.Tensor(%y, %x) : (tensor<3x1xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
  %2 = edge.sub.Tensor(%0, %1) : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  %3 = edge.maximum(%2, %x) : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
  %4 = edge.minimum(%3, %z) : (tensor<2x3x6xf32>, tensor<3x6xf32>) -> tensor<2x3x6xf32>
  %5 = edge.neg(%4) : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  %6 = edge.abs(%5) : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  %7 = edge.relu(%2) : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  func.return %6, %7 : tensor<2x3x6xf32>, tensor<2x3x6xf32>
}
"""
LAYER = """
ml_program.global private @weight(WEIGHT) : tensor<3x6xf32>
func.func @forward(%x: tensor<5x6xf32>, %y: tensor<3x4xf32>, %z: tensor<3xf32>) -> tensor<5x4xf32> {
  %0 = ml_program.global_load_const @weight : tensor<3x6xf32>
  %1 = edge.linear(%x, %0, %z) : (tensor<5x6xf32>, tensor<3x6xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %2 = edge.mm(%1, %y) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  func.return %2 : tensor<5x4xf32>
}
"""
SHAPES = {ELEMENTS: ((2, 1, 6), (3, 1), (3, 6)), LAYER: ((5, 6), (3, 4), (3,))}
Floats = NDArray[np.float32]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register_backend(BACKEND)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    configure = ["cmake", "-S", str(HERE), "-B", str(folder), f"-Dwhere={folder}", f"-DPython3_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(folder)], check=True, capture_output=True)
    return folder / "libabacus.so"


def floats(shape: Sequence[int], seed: int, power: float = 0.0, spread: float = 0.0) -> Floats:
    """Returns random float32 numbers of about 2^power, whose exponents differ by up to `spread` from `power`."""
    random = np.random.default_rng(seed)
    return np.asarray(random.standard_normal(shape) * 2.0 ** (power + spread * random.uniform(-1, 1, shape)), np.float32)


def compiled(text: str, pipeline: str = "", weight: Floats | None = None) -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    blob = context.blobs.add("weight", (floats((3, 6), 3) if weight is None else weight).tobytes())
    module = parse_module(text.replace("WEIGHT", str(blob)), context).module
    Pipeline.parse(pipeline).run(module, context)
    return module, context


def numpy_of(text: str, pipeline: str, inputs: Sequence[Floats]) -> list[Floats]:
    return [np.asarray(found) for found in interpret(*compiled(text, pipeline), run_payload).run("forward", inputs)]


def runtime_of(text: str, library: Path, inputs: Sequence[Floats]) -> list[Floats]:
    Runtime.get().backend_registry.add("abacus", library)
    program = b"".join(emit_pte(*compiled(text, "delegate{backends=abacus},edge-to-exec,plan")))
    return [np.asarray(found) for found in Runtime.get().load_program(program).load_method().execute(list(inputs))]


@pytest.mark.parametrize("text", SHAPES, ids=["elements", "layer"])
@pytest.mark.parametrize(("power", "spread"), [(0, 0), (0, 3), (-60, 12), (-70, 0), (-135, 8), (30, 30), (60, 1)])
def test_every_form_gives_the_numbers_of_the_device(text: str, power: float, spread: float, library: Path):
    for seed in range(2):
        inputs = [floats(shape, 3 * seed + place, power, spread) for place, shape in enumerate(SHAPES[text])]
        converted = numpy_of(text, "partition{backends=abacus},convert-partitions", inputs)
        for found in (numpy_of(text, "delegate{backends=abacus}", inputs), runtime_of(text, library, inputs)):
            for a, b in zip(converted, found, strict=True):
                np.testing.assert_array_equal(a, b)
        if not power:
            for a, b in zip(numpy_of(text, "", inputs), converted, strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * float(np.abs(a).max()))


@pytest.mark.parametrize(("number", "why"), [(np.inf, "no infinities"), (np.nan, "no NaN"), (2.0**100, "below 2\\^127")])
def test_what_the_device_has_no_numbers_for(number: float, why: str, library: Path):
    inputs = [np.full(shape, number, np.float32) for shape in SHAPES[ELEMENTS]]
    why = why if number > 0 and np.isfinite(number) else "infinit.* NaN"
    with pytest.raises(InterpreterError, match=why):
        numpy_of(ELEMENTS, "delegate{backends=abacus}", inputs)
    with pytest.raises(FlambeauError, match=why):
        runtime_of(ELEMENTS, library, inputs)


@pytest.mark.parametrize("pipeline", ["", "delegate{backends=abacus},"], ids=["without delegates", "with one"])
def test_an_option_that_it_does_not_have_is_refused(pipeline: str, library: Path):
    Runtime.get().backend_registry.add("abacus", library)
    program = b"".join(emit_pte(*compiled(ELEMENTS, f"{pipeline}edge-to-exec,plan")))
    Runtime.get().load_program(program, backend_options={"abacus": {}}).load_method()
    with pytest.raises(FlambeauError, match="backend 'abacus' has no option 'digits'; it has none"):
        Runtime.get().load_program(program, backend_options={"abacus": {"digits": 12}})


def test_a_weight_without_a_block_is_refused():
    with pytest.raises(
        PassError, match="the constant 'weight_1' does not fit: the device has no infinities and no NaN; --no-delegate keeps"
    ):
        compiled(LAYER, "delegate{backends=abacus}", np.full((3, 6), np.inf, np.float32))


def test_what_it_does_not_take_has_a_reason():
    text = """
    func.func @forward(%x: tensor<2x16385xf32>, %y: tensor<16385x1xf32>, %z: tensor<1x1x1x1x2xf32>, %w: tensor<5000x1x1xf32>) {
      %0 = edge.mm(%x, %y) : (tensor<2x16385xf32>, tensor<16385x1xf32>) -> tensor<2x1xf32>
      %1 = edge.relu(%z) : (tensor<1x1x1x1x2xf32>) -> tensor<1x1x1x1x2xf32>
      %2 = edge.add.Tensor(%y, %y) {alpha = 2} : (tensor<16385x1xf32>, tensor<16385x1xf32>) -> tensor<16385x1xf32>
      %3 = edge.mul.Tensor(%x, %w) : (tensor<2x16385xf32>, tensor<5000x1x1xf32>) -> tensor<5000x2x16385xf32>
      func.return
    }
    """
    module, _ = compiled(text)
    table = Partitioner("abacus").table
    assert [table.why_not(op) for op in module.walk() if op.name.startswith("edge.")] == [
        "each result is a sum of 16385 products, and the device adds up to 16384",
        "a tensor has 5 dimensions, and its kernel takes 0 to 4",
        "argument 'alpha' is 2, and its kernel takes 1",
        "a tensor has 163850000 numbers, and the memory of the device holds 16777216 of each",
    ]


def payload(**changed: int) -> bytes:
    """Returns a payload of one step, on an input and a constant, with some fields changed."""
    fields = {
        **{"magic": 0x43414241, "version": 1, "inputs": 1, "constants": 1, "steps": 1, "outputs": 1},
        **{
            f"{value}_{place}": number for value in "xcr" for place, number in enumerate((1, 1, 1, 1, 2))
        },  # the input, the constant, the result
        **{"code": 3, "first": 0, "second": 1, "output": 2, "power": 0, "c0": 1 << 23, "c1": -(1 << 23)},
    }
    assert changed.keys() <= fields.keys()
    return b"".join(struct.pack("<I", number % 2**32) for number in (fields | changed).values())


BAD = {
    "magic": ({"magic": 1}, "it does not start with its magic"),
    "version": ({"version": 2}, "it is of version 2; this backend reads 1"),
    "inputs": ({"inputs": 2**31}, "it ends before"),
    "rank": ({"x_0": 5}, "a tensor of 5 dimensions"),
    "padding": ({"x_1": 2}, "a tensor of 1 dimensions has the sizes"),
    "size": ({"r_4": 2**25}, "the memory of the device holds"),
    "other size": ({"r_4": 3}, "a step gives"),
    "code": ({"code": 9}, "there is no step with the code 9"),
    "later value": ({"first": 2}, "a step reads value 2 before it is computed"),
    "second value": ({"code": 0}, "a step that reads one value names a second one"),
    "no broadcast": ({"x_4": 3}, "do not broadcast"),
    "no matrix": ({"code": 8}, "there is no product"),
    "output": ({"output": 3}, "there is no value 3 to give back"),
    "power": ({"power": 104}, "a constant is no block of 24 bits"),
    "number": ({"c0": 1 << 24}, "a constant is no block of 24 bits"),
    "no block": ({"c0": 1, "c1": 1}, "a constant is no block of 24 bits"),
}


def test_a_payload_is_decoded():
    (found,) = run_payload("AbacusBackend", memoryview(payload()), {}, [np.ones(2, np.float32)])
    np.testing.assert_array_equal(found, np.array([2.0**23 + 1, 1 - 2.0**23], np.float32))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_payload_is_refused(name: str):
    changed, why = BAD[name]
    with pytest.raises(BackendError, match=why):
        run_payload("AbacusBackend", memoryview(payload(**changed)), {}, [np.ones(2, np.float32)])


def test_a_payload_that_goes_on_is_refused():
    with pytest.raises(BackendError, match="abacus payload: 4 bytes follow its end"):
        run_payload("AbacusBackend", memoryview(payload() + bytes(4)), {}, [np.ones(2, np.float32)])
