"""Compiles a partition: its TOSA graph by Vela, and what Vela gives as a bin stream."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Operation, Region, SSAValue

from flambeau.backends.ethos_u import VELA, EthosUOptions
from flambeau.backends.ethos_u.bin_stream import Argument, CompiledGraph, write
from flambeau.backends.ethos_u.limits import why_not
from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.encode import encode as encode_tosa
from flambeau.backends.tosa.lower import convert as convert_to_tosa
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, Encoded, RefusedError
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.vendor_tools.kept_results import ToolResult
from flambeau.passes.vendor_tools.tool import ToolError
from flambeau.support.lazy import Array, np


def convert(partition: PartitionOp, constants: ModuleConstants, options: EthosUOptions) -> None:
    """Rewrites a partition in `tosa` operators between integers. Raises ConversionError and RefusedError."""
    convert_to_tosa(partition, constants, TosaOptions(activations=options.activations))
    reasons: dict[Operation, str] = {}
    for op in partition.body.block.ops:
        if isinstance(op, SchemaOp) and (reason := why_not(op, options.family, constants)) is not None:
            reasons[op] = f"{options.family}: {reason}"
    if reasons:
        raise RefusedError(reasons)


def encode(partition: PartitionOp, constants: ModuleConstants, options: EthosUOptions) -> Encoded:
    """Returns the payload of a partition.

    Raises RefusedError with Vela's words, and ToolError where Vela is not, or does not know a word of the options.
    """
    tool = VELA.find()
    try:
        result = _result(partition, constants, options)
    except ToolError as error:
        if any(name in error.output for name in _OF_OPTIONS):
            raise
        if _REFUSAL in error.output and (culprits := _culprits(partition, constants, options)):
            raise RefusedError(culprits) from error
        raise RefusedError({partition: str(error)}) from error
    arrays, summary = (next(data for name, data in result.files.items() if name.endswith(suffix)) for suffix in (".npz", ".csv"))
    compiled = _read(arrays)
    _check(partition, compiled)
    return Encoded(write(compiled), made_by=tool.label, estimates=estimates_in(summary.decode(errors="replace")))


def _result(partition: PartitionOp, constants: ModuleConstants, options: EthosUOptions) -> ToolResult:
    """Returns what Vela makes of a partition: a file of arrays, and a table with one row of estimates. Raises ToolError."""
    system, memory = options.platform
    arguments = ["graph.tosa", "--output-format=raw", "--output-dir=out", f"--accelerator-config={options.accelerator}"]
    arguments += [f"--system-config={system}", f"--memory-mode={memory}", f"--optimise={options.optimise}"]
    files: dict[str, bytes] = {"graph.tosa": encode_tosa(partition, constants, TosaOptions()).data}
    if options.config:
        files["vela.ini"] = _configuration(options.config)
        arguments.append("--config=vela.ini")
    return VELA.run(arguments, files, ["out/*.npz", "out/*_summary_*.csv"])


def estimates_in(summary: str) -> Mapping[str, float]:
    """Returns Vela's estimates of a call: time, and bytes used and moved of each memory that has any; none from a table of another form."""
    try:
        (row,) = csv.DictReader(io.StringIO(summary))
        found = {"cycles": float(row["cycles_total"]), "seconds": float(row["inference_time"])}
        for memory in _MEMORIES:
            found[f"{memory}_bytes"] = float(row[f"{memory}_memory_used"]) * 1024  # the table has KiB
            found[f"{memory}_moved_bytes"] = float(row[f"{memory}_total_bytes"])
    except (ValueError, KeyError, TypeError):
        return {}
    return {name: value for name, value in found.items() if value}


_MEMORIES = ("sram", "dram", "on_chip_flash", "off_chip_flash")


def _culprits(partition: PartitionOp, constants: ModuleConstants, options: EthosUOptions) -> Mapping[Operation, str]:
    """Returns the operators that Vela refuses on their own, with its words."""
    found: dict[Operation, str] = {}
    for op in partition.body.block.ops:
        if isinstance(op, SchemaOp) and op.schema.base not in _MOVES:
            try:
                _result(_alone(op, constants), constants, options)
            except ToolError as error:
                found[op] = str(error)
    return found


_OF_OPTIONS = ("CliOptionError", "ConfigOptionError")
"""Vela's errors of its command line and of its configuration: no operator is refused."""
_REFUSAL = "could not run on NPU"
"""What Vela says when it refuses an operator, of which it names the kind."""
_MOVES = ("reshape", "rescale")
"""Operators that Vela takes in every graph; a graph of nothing else may be one that it has nothing to do for."""


def _alone(op: SchemaOp, constants: ModuleConstants) -> PartitionOp:
    """Returns a partition of one operator, whose operands are inputs, but for constants."""
    inputs = [value for value in dict.fromkeys(op.operands) if constants.array(value) is None]
    block = Block(arg_types=[value.type for value in inputs])
    mapper: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    with ImplicitBuilder(block):
        for value in dict.fromkeys(op.operands):
            if value not in mapper:
                assert isinstance(value.owner, Operation)
                value.owner.clone(mapper)
        ReturnOp(op.clone(mapper).results)
    kind = FunctionType.from_lists([value.type for value in inputs], [value.type for value in op.results])
    return PartitionOp("alone", "EthosUBackend", kind, Region(block))


def _configuration(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BackendError(f"option 'config' is {path!r}, which cannot be read: {error.strerror}") from error


def _read(data: bytes) -> CompiledGraph:
    """Returns what is in Vela's file of arrays."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found: Mapping[str, Array] = {name: arrays[name] for name in _ARRAYS}
    except (ValueError, KeyError, OSError) as error:
        raise BackendError(f"Vela's file cannot be read: {error}") from error
    inputs, outputs = (
        [
            Argument(tuple(map(int, shape)), *(int(found[f"{kind}_{name}"][index]) for name in ("elem_size", "offset", "region")))
            for index, shape in enumerate(found[f"{kind}_shape"])
        ]
        for kind in ("input", "output")
    )
    return CompiledGraph(found["cmd_data"].tobytes(), found["weight_data"].tobytes(), int(found["scratch_shape"][0]), inputs, outputs)


_ARGUMENT_ARRAYS = ("shape", "elem_size", "offset", "region")
_ARRAYS = ("cmd_data", "weight_data", "scratch_shape", *(f"{kind}_{name}" for kind in ("input", "output") for name in _ARGUMENT_ARRAYS))


def _check(partition: PartitionOp, compiled: CompiledGraph) -> None:
    """Raises RefusedError unless the arguments are those of the partition: Vela leaves out inputs that nothing reads."""
    block = partition.body.block
    assert block.last_op is not None
    for what, values, found in (("inputs", block.args, compiled.inputs), ("outputs", block.last_op.operands, compiled.outputs)):
        wanted: list[Any] = [int(np.prod(shape_of(value))) * numpy_dtype(element_of(value)).itemsize for value in values]
        sizes = [item.size for item in found]
        if wanted != sizes:
            raise RefusedError({partition: f"its {what} have {sizes} bytes in Vela's result, and {wanted} in the program"})
