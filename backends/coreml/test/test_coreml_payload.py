"""Payloads: what ExecuTorch's runtime finds in them, what numbers become, and what `decode` refuses."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_programs import seed
from vendor_converter import payload_of

from flambeau import to_edge
from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.decode import decode
from flambeau.backends.coreml.package import MODEL, WEIGHTS, flattened, read_package, unflattened
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.protobuf import Record, encode
from flambeau.runtime.protobuf import decode as decoded


class Small(nn.Module):
    """A layer with an epsilon and a number that float16 does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 16), nn.LayerNorm(16, eps=1e-12)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Two results, one of them a maximum with a number beyond float16."""
        y = self.norm(self.layer(x))
        return y, torch.clamp_min(y * 1e5, -1e5)


def lowered(options: str = "") -> Any:
    seed()
    return to_edge(torch.export.export(Small().eval(), (torch.ones(2, 4),))).to_backend(f"coreml{options}")


def parts(payload: bytes) -> tuple[Record, bytes, list[str], list[str]]:
    """The model, the weights, and the names of inputs and outputs."""
    model, weights, said = read_package(memoryview(payload))
    return decoded(spec.MODEL, model, "a model", BackendError), bytes(weights), said["inputNames"], said["outputNames"]


def test_executorch_finds_the_files_of_a_payload(tmp_path: Path) -> None:
    payload = payload_of(lowered())
    importlib.import_module("executorch.backends.apple.coreml.executorchcoreml").unflatten_directory_contents(payload, str(tmp_path))
    files = {str(path.relative_to(tmp_path / "lowered_module")): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {path: bytes(data) for path, data in unflattened(memoryview(payload)).items()}
    metadata = json.loads(files["metadata.json"])
    assert (metadata["inputNames"], metadata["outputNames"]) == (["input_0"], ["output_0", "output_1"])
    manifest = json.loads(files["model.mlpackage/Manifest.json"])
    paths = {entry["path"] for entry in manifest["itemInfoEntries"].values()}
    assert paths == {"com.apple.CoreML/model.mlmodel", "com.apple.CoreML/weights"}
    root = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"]
    assert f"model.mlpackage/Data/{root}" == f"model.mlpackage/{MODEL}" and f"model.mlpackage/{WEIGHTS}" in files


def test_equal_programs_have_equal_payloads_and_others_other_identifiers() -> None:
    payloads = [payload_of(lowered(options)) for options in ("", "", "{precision=f32}")]
    identifiers = [read_package(memoryview(payload))[2]["identifier"] for payload in payloads]
    assert payloads[0] == payloads[1] and identifiers[0] == identifiers[1] != identifiers[2]


@pytest.mark.parametrize(("options", "near"), [("", 4e-3), ("{precision=f32}", 1e-6)])
def test_numpy_computes_what_a_payload_says(options: str, near: float) -> None:
    edge = lowered(options)
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    with torch.no_grad():
        seed()
        expected = [value.numpy() for value in Small().eval()(torch.tensor(x))]
    found = interpret(edge.module, edge.context, run_payload).run("forward", [x])
    for array, value in zip(map(np.asarray, found), expected, strict=True):
        assert np.abs(array - value).max() <= near * np.abs(value).max()


def test_what_float16_cannot_hold_stays_in_float32() -> None:
    store = BlobStore()
    module = decode(memoryview(payload_of(lowered())), {}, store)
    (partition,) = (op for op in module.body.block.ops if isinstance(op, PartitionOp))
    kinds = {op.name: str(op.results[0].type) for op in partition.body.block.ops if op.results}
    assert (kinds["coreml.layer_norm"], kinds["coreml.mul"], kinds["coreml.maximum"]) == (
        "tensor<2x16xf16>",
        "tensor<2x16xf32>",
        "tensor<2x16xf32>",
    )
    (norm,) = (op for op in partition.body.block.ops if op.name == "coreml.layer_norm")
    assert "epsilon = 5.96" in str(norm)


def test_our_runtime_says_that_it_has_no_core_ml() -> None:
    program = bytes(lowered().to_executorch().buffer)
    with pytest.raises(FlambeauError, match="needs backend 'CoreMLBackend', which this runtime does not have"):
        Runtime.get().load_program(program).load_method("forward")


@pytest.mark.parametrize("option", ["precision=bf16", "target=iOS14", "compute_units=gpu"])
def test_other_options_are_refused_with_those_that_there_are(option: str) -> None:
    name, value = option.split("=")
    with pytest.raises(ValueError, match=rf"option '{name}' is .* or .*, not '{value}'"):
        changes: dict[str, Any] = {name: value}
        CoreMlOptions(**changes)


def damage(change: Any) -> bytes:
    """A payload whose model `change` has changed."""
    model, weights, inputs, outputs = parts(payload_of(lowered("{precision=f32}")))
    change(model)
    return flattened(encode(spec.MODEL, model), weights, inputs, outputs)


def first(model: Record, kind: str) -> Record:
    """The first operation of a type."""
    block = model.mlProgram.functions["main"].block_specializations["CoreML7"]
    return next(item for item in block.operations if item.type == kind)


def rename(model: Record) -> None:
    first(model, "layer_norm").type = "local_response_norm"


def retype(model: Record) -> None:
    first(model, "layer_norm").outputs[0].type.tensorType.dataType = 10


def forget(model: Record) -> None:
    del first(model, "layer_norm").inputs["axes"]


def invent(model: Record) -> None:
    item = first(model, "layer_norm")
    item.inputs["mean"] = item.inputs["x"]


def repeat(model: Record) -> None:
    first(model, "layer_norm").outputs[0].name = "input_0"


def look_ahead(model: Record) -> None:
    first(model, "linear").inputs["x"].arguments[0].name = "output_0"


def move(model: Record) -> None:
    first(model, "const").attributes["val"].blobFileValue.offset += 64


def age(model: Record) -> None:
    model.specificationVersion = 6


def grow(model: Record) -> None:
    model.description.metadata.userDefined["flambeau.inputs"] = "i64"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (rename, "'local_response_norm', is not supported here"),
        (retype, "'layer_norm', gives other tensors than it says"),
        (forget, "'layer_norm', lacks its input 'axes'"),
        (invent, "'layer_norm', has the input 'mean', which is not known here"),
        (repeat, "there are two values 'input_0'"),
        (look_ahead, "'linear', reads 'output_0', which nothing before it gives"),
        (move, "the weight at byte 128 is no|there is no weight at byte 128"),
        (age, "its function is not of the operators CoreML5"),
        (grow, "the input 'input_0' is tensor<2x4xf32>, and its metadata says i64"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(change: Any, why: str) -> None:
    with pytest.raises(BackendError, match=why):
        decode(memoryview(damage(change)), {}, BlobStore())


@pytest.mark.parametrize("data", [b"", b"}", b"{}"[::-1], b'{"nodes": [{"kind": 1, "children": {"a": 0}}]}'[::-1], b"[" * 100000])
def test_bytes_that_are_no_folder_are_refused(data: bytes) -> None:
    with pytest.raises(BackendError, match="Core ML payload"):
        decode(memoryview(data), {}, BlobStore())
