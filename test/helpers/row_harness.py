"""What the tests of rows share: samples as operations, as torch calls, and decompositions evaluated with numpy."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import torch
from vector_choices import aligned
from xdsl.dialects import scf
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.ir.tensor_types import dtype_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import meaning
from flambeau.tools.samples.sample_table import all_samples, bound_samples

TOLERANCES = {"float64": 1e-9, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 3e-5, "complex128": 1e-9}


SAMPLES = all_samples() | {
    name: samples
    for path in sorted(Path(__file__).parents[2].glob("backends/*/test/op_samples*.py"))
    for name, samples in runpy.run_path(str(path))["SAMPLES"].items()
}
"""Those of the dialects of backends too."""
ROWS: dict[str, type[SchemaOp]] = {op.name: op for dialect in load_rows().values() for op in dialect.values()}


def samples_of(op: type[SchemaOp]) -> list[tuple[Any, ...]]:
    """The operator's samples, with defaults for the arguments that they leave out."""
    return bound_samples(SAMPLES[op.name], op)


def values_of(decomposed: Any) -> list[SSAValue]:
    """A decomposition's values as a list."""
    return list(cast("Iterable[SSAValue]", decomposed)) if isinstance(decomposed, tuple | list) else [cast(SSAValue, decomposed)]


def evaluate(values: Sequence[SSAValue], known: dict[SSAValue, Array]) -> list[Array]:
    """The arrays of values built detached, by the meanings of core operators; other operators are decomposed first."""
    run_operations(detached_ops(values), known)
    return [known[value] for value in values]


def run_operations(ops: Iterable[Operation], known: dict[SSAValue, Array]) -> None:
    """Adds the results of operations, those of loops among them."""
    for op in ops:
        if isinstance(op, scf.WhileOp):
            known |= zip(op.results, repeated(op, known), strict=True)
            continue
        if isinstance(op, ExtractOp):
            known[op.result] = known[op.tensor].reshape(())
            continue
        assert isinstance(op, SchemaOp)
        if op.results[0] in known:
            continue
        op.verify_()
        arrays = [known[operand] for operand in op.operands]
        if op.core or (op.keep and not op.has("decompose")) or op.level() not in ("aten", "core", "edge"):
            results = meaning(op, arrays)
        else:
            assert op.has("decompose"), f"{op.name} is not core and has no decomposition"
            results = evaluate(values_of(op.call("decompose", op.arguments())), known)
        known |= zip(op.results, results, strict=True)


def repeated(op: scf.WhileOp, known: dict[SSAValue, Array]) -> list[Array]:
    """The results of a loop."""
    carried: list[Any] = [known[operand] for operand in op.operands]
    while True:
        for region in (op.before_region, op.after_region):
            block = region.block
            inside = known | dict(zip(cast("Sequence[SSAValue]", block.args), carried, strict=True))
            *ops, end = block.ops
            run_operations(ops, inside)
            if isinstance(end, scf.ConditionOp):
                carried = [inside[value] for value in end.args]
                if not inside[end.condition]:
                    return carried
            else:
                carried = [inside[value] for value in end.operands]


def to_torch(value: Any, argument: SchemaArgument | None = None) -> Any:
    """A sample's value as torch takes it."""
    if isinstance(value, np.ndarray):
        array = np.array(cast(Array, value))  # without negative strides
        if hasattr(ml_dtypes, array.dtype.name):
            return torch.tensor(array.view(f"int{8 * array.itemsize}")).view(getattr(torch, array.dtype.name))
        return torch.tensor(array)
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Attribute):
        return getattr(torch, dtype_of(value).torch)
    if argument is not None and value is not None:
        if argument.type.base == "MemoryFormat":
            return torch.contiguous_format
        if argument.type.base == "Device":
            return torch.device(value)
        if argument.type.base == "ScalarType":
            return torch.int64
    return value


def from_torch(value: torch.Tensor) -> Array:
    """A torch tensor as an array."""
    value = value.detach().resolve_conj().resolve_neg().contiguous()
    if hasattr(ml_dtypes, name := str(value.dtype).removeprefix("torch.")):
        return value.view(torch.int16 if value.itemsize == 2 else torch.int8).numpy().view(getattr(ml_dtypes, name))
    return value.numpy()


def torch_operator(op: type[SchemaOp]) -> Any:
    """The operator of a row as PyTorch and ExecuTorch compute it; None when they do not."""
    schema = op.schema
    if schema.namespace == "quantized_decomposed":
        importlib.import_module("torch.ao.quantization.fx._decomposed")
        importlib.import_module("executorch.exir.passes._quant_patterns_and_replacements")
    elif schema.namespace != "aten":
        return None
    packet = getattr(getattr(torch.ops, schema.namespace), schema.base, None)
    found = None if packet is None else getattr(packet, schema.overload or "default")
    if found is None or schema.namespace == "aten":
        return found
    return found if found.has_kernel_for_dispatch_key("CompositeExplicitAutograd") else None


def call_torch(op: type[SchemaOp], sample: Sequence[Any]) -> list[Array]:
    """What torch computes on a sample."""
    arguments = op.schema.arguments
    converted = [to_torch(value, argument) for value, argument in zip(sample, arguments, strict=True)]
    positional = [value for value, argument in zip(converted, arguments, strict=True) if not argument.keyword_only]
    named = {argument.name: value for value, argument in zip(converted, arguments, strict=True) if argument.keyword_only}
    found = torch_operator(op)(*positional, **named)
    results = cast("Sequence[torch.Tensor | None]", found) if isinstance(found, tuple | list) else (found,)
    # What an output mask leaves out is empty here.
    like = next(result for result in results if result is not None)
    return [from_torch(like.new_empty(0) if result is None else result) for result in results]


def assert_close(
    name: str, actual: Sequence[Array], expected: Sequence[Array], tolerance: float | None = None, row: type[SchemaOp] | None = None
) -> None:
    """Integers are equal, floats within the tolerance of their type, NaN where NaN is expected; a row may leave a choice of vectors."""
    assert len(actual) == len(expected)
    for got, want in zip(actual if row is None else aligned(row.name, actual, expected), expected, strict=True):
        assert got.shape == want.shape, f"{name}: shape {got.shape}, expected {want.shape}"
        assert got.dtype == want.dtype, f"{name}: {got.dtype}, expected {want.dtype}"
        if got.tobytes() == want.tobytes():
            continue  # numpy takes a hundred times longer to say so
        bound = TOLERANCES.get(got.dtype.name)
        if bound is None:
            np.testing.assert_array_equal(got, want, err_msg=name)
        else:
            bound = max(bound, tolerance or 0)
            wide = np.complex128 if got.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=bound, atol=bound, err_msg=name)
