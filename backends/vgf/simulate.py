"""Runs VGF files with Arm's scenario runner, on the emulation layers of the ML extensions of Vulkan."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from flambeau.backends.vgf.payload import FORMAT_NAMES, Argument, arguments_of
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.vendor_tools.tool import Tool, ToolError
from flambeau.runtime.interpreter import HardwareOnlyError
from flambeau.support.lazy import Array, np

RUNNER = Tool(
    "scenario-runner",
    "FLAMBEAU_SCENARIO_RUNNER",
    "pip install ai-ml-sdk-scenario-runner ai_ml_emulation_layer_for_vulkan",
    python=(str(Path(__file__).parent / "emulation.py"),),
    at_least="0.11",
)


def simulate(data: memoryview, named_data: Mapping[str, memoryview], arguments: Sequence[Array]) -> Sequence[Array]:
    """Returns the results of a payload. Raises HardwareOnlyError where the runner is not here, and BackendError where it fails."""
    if (missing := RUNNER.missing()) is not None:
        raise HardwareOnlyError(f"the payloads of backend 'vgf' run on its hardware and on Arm's emulation layers: {missing}")
    found, files = arguments_of(data), dict[str, bytes]()
    for index, (item, given) in enumerate(zip(found.inputs, arguments, strict=False)):
        shape, dtype = shape_of(item.kind), numpy_dtype(element_of(item.kind))
        if given.dtype != dtype or given.shape not in (shape, () if shape == (1,) else shape):
            raise BackendError(f"vgf: input {index} is of {given.dtype} and {list(given.shape)}, and the payload's is {item.kind}")
        files[f"input_{index}.npy"] = _written(given.reshape(shape))
    if len(files) < len(found.inputs):
        raise BackendError(f"vgf: a call has {len(files)} inputs, and its payload {len(found.inputs)}")
    names = [f"output_{index}.npy" for index in range(len(found.outputs))]
    scenario = json.dumps(_scenario(found.inputs, list(files), found.outputs, names)).encode()
    try:
        result = RUNNER.run(
            ["--scenario", "scenario.json", "--output", "."],
            {**files, "graph.vgf": data, "scenario.json": scenario},
            names,
            is_kept=False,
        )
    except ToolError as error:
        raise BackendError(f"vgf: {error}") from error
    arrays = [np.load(io.BytesIO(result.files[name])) for name in names]
    return [array.view(numpy_dtype(element_of(item.kind))) for array, item in zip(arrays, found.outputs, strict=True)]


def _scenario(inputs: Sequence[Argument], read: Sequence[str], outputs: Sequence[Argument], written: Sequence[str]) -> object:
    """Returns the scenario that runs `graph.vgf` once."""
    tensors = [
        *(_tensor(item, name, "src", "readonly") for item, name in zip(inputs, read, strict=True)),
        *(_tensor(item, name, "dst", "writeonly") for item, name in zip(outputs, written, strict=True)),
    ]
    named = zip((*inputs, *outputs), (*read, *written), strict=True)
    bindings = [{"set": 0, "id": item.binding, "resource_ref": name} for item, name in named]
    call = {"graph_ref": "graph", "bindings": bindings, "shader_substitutions": list[object]()}
    return {"resources": [{"graph": {"uid": "graph", "src": "graph.vgf"}}, *tensors], "commands": [{"dispatch_vgf": call}]}


def _tensor(item: Argument, name: str, way: str, access: str) -> object:
    form = f"VK_FORMAT_{FORMAT_NAMES[element_of(item.kind)]}"
    return {"tensor": {"uid": name, way: name, "dims": list(shape_of(item.kind)), "format": form, "shader_access": access}}


def _written(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array))
    return file.getvalue()
