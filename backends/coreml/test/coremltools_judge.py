"""What coremltools reads of a package, beside what was written: names, types and elements of each operation."""

from __future__ import annotations

import atexit
import hashlib
import importlib
import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from vendor_tools import installed

from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.package import MODEL, WEIGHTS, flattened, stored
from flambeau.dialects.ir.tensor_types import dtype_of, tensor
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.protobuf import Record, decode

PYTHONS = installed("coreml-test")
_ELEMENTS = {number: element for element, number in spec.DATA_TYPES.items()}
_NAMES = {"i1": "bool", "f16": "fp16", "f32": "fp32", "i8": "int8", "i32": "int32", "ui8": "uint8"}
_READ = """
import hashlib, json, os, sys, traceback
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what coremltools prints is no answer
import numpy as np
import coremltools as ct
from coremltools.converters.mil.frontend.milproto import load
from coremltools.converters.mil.mil import types

def read(path):
    model = ct.models.MLModel(path, skip_model_load=True)
    spec = model.get_spec()
    program = load.load(spec, specification_version=spec.specificationVersion, file_weights_dir=model.weights_dir)
    (function,) = program.functions.values()
    operations, written = [], {var.name for main in spec.mlProgram.functions.values() for block in main.block_specializations.values()
                               for op in block.operations for var in op.outputs}
    for op in function.operations:
        if op.op_type == "const" and op.outputs[0].name not in written:
            continue  # a default, or an operand that stands in its operation
        outputs = [[var.name, types.builtin_to_string(var.dtype), list(var.shape)] for var in op.outputs]
        value = op.outputs[0].val if op.op_type == "const" else None
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() if isinstance(value, np.ndarray) else None
        if op.op_type.startswith("constexpr_"):
            digest = np.asarray(op.materialized_val_inference(), np.float32).reshape(-1).tolist()
        is_write = op.op_type == "coreml_update_state"
        operations.append(["write_state" if is_write else op.op_type, [] if is_write else outputs, digest])
    return [list(function.inputs), [var.name for var in function.outputs], operations]

for line in sys.stdin:
    try:
        answer = [read(path) for path in json.loads(line)]
    except Exception:
        answer = traceback.format_exc()
    print(json.dumps(answer), file=answers, flush=True)
"""
_OPEN = ExitStack()
atexit.register(_OPEN.close)


@cache
def _reader(python: str) -> subprocess.Popen[str]:
    """A process that reads packages as long as this one lives: its start takes seconds, most of it imports."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    return _OPEN.enter_context(subprocess.Popen([python, "-c", _READ], stdin=pipe, stdout=pipe, stderr=none, text=True))


def without_weights(found: Any) -> Any:
    """What was read, without the elements of the weights that coremltools makes of integers."""
    return [
        [*names, [[kind, outputs, None if kind.startswith("constexpr_") else digest] for kind, outputs, digest in operations]]
        for *names, operations in found
    ]


def read(python: str, packages: Sequence[Path]) -> list[Any]:
    """What coremltools reads of each package: the names of inputs and outputs, and the operations. Fails where it refuses one."""
    reader = _reader(python)
    assert reader.stdin is not None and reader.stdout is not None
    print(json.dumps([str(package) for package in packages]), file=reader.stdin, flush=True)
    found = json.loads(reader.stdout.readline() or '"it ended"')
    assert isinstance(found, list), found[-2000:]
    return cast(list[Any], found)


def unpacked(payload: bytes, folder: Path) -> Path:
    """The package of a payload, as ExecuTorch's own code writes it to a folder."""
    folder.mkdir(parents=True)
    importlib.import_module("executorch.backends.apple.coreml.executorchcoreml").unflatten_directory_contents(payload, str(folder))
    (package,) = folder.glob("*/model.mlpackage")
    return package


def written(package: Path) -> list[Any]:
    """What was written of a package, in the form of `read`. Constants are those that coremltools reads as arrays."""
    model = decode(spec.MODEL, memoryview((package / MODEL).read_bytes()), "a model")
    weights = memoryview((package / WEIGHTS).read_bytes())
    main = model.mlProgram.functions["main"]
    block = main.block_specializations[main.opset]
    operations = [[item.type, [_output(output) for output in item.outputs], _digest(item, weights)] for item in block.operations]
    return [[item.name for item in main.inputs], list(block.outputs), operations]


def _output(output: Record) -> Sequence[Any]:
    kind = output.type.tensorType
    name = "string" if kind.dataType == spec.STRING else _NAMES[dtype_of(_ELEMENTS[kind.dataType]).mlir]
    return [output.name, name, [item.constant.size for item in kind.dimensions]]


def _digest(item: Record, weights: memoryview) -> str | None:
    value: Record | None = item.attributes.get("val")
    if value is None or not value.type.tensorType.rank:
        return None
    dtype = dtype_of(_ELEMENTS[value.type.tensorType.dataType])
    if value.blobFileValue is not None:
        kind = tensor(dtype.element, [size.constant.size for size in value.type.tensorType.dimensions])
        return hashlib.sha256(stored(weights, value.blobFileValue.offset, kind)).hexdigest()
    given: Any = value.immediateValue.tensor
    field: Any = next(getattr(given, name) for name in ("floats", "ints", "bools", "bytes") if getattr(given, name) is not None)
    data: bytes = bytes(field.values) if dtype.mlir in ("f16", "i8", "ui8") else np.array(field.values, dtype.numpy).tobytes()
    return hashlib.sha256(data).hexdigest()


def run_package(path: Path, calls: Sequence[Sequence[Any]], states: Sequence[Any]) -> list[list[Any]]:
    """The results of calls of a package, each with the states that the one before it left."""
    inputs, outputs, _ = written(path)
    model, weights = ((path / name).read_bytes() for name in (MODEL, WEIGHTS))
    payload = memoryview(flattened(model, weights, inputs[: len(calls[0])], outputs))
    found: list[list[Any]] = []
    for call in calls:
        results = list(run_payload("CoreMLBackend", payload, {}, [*call, *states]))
        states = results[len(results) - len(states) :]
        found.append(results[: len(results) - len(states)])
    return found
