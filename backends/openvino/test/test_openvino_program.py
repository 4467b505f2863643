"""Programs as a whole: with another backend, with operators that stay, compiled on the command line and for a device that is absent."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from device_models import Journey, arrays, start_journey
from shares import drawn

from flambeau import to_edge
from flambeau.backends.openvino import OpenvinoPartitioner
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import import_program
from flambeau.passes.delegation.interface import Backend, backend_names, find_backend
from flambeau.passes.delegation.partitioner import CompileSpec, Partitioner, partitioners
from flambeau.passes.manager import PassError
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program
from flambeau.tools.main import main

pytestmark = pytest.mark.usefixtures("openvino_library")


def runs_here(backend: Backend) -> bool:
    """Whether the runtime has a backend's part, and finds the library that this loads."""
    is_built = backend.identifier in Runtime.get().backend_registry.registered_backend_names
    return is_built and (backend.found is None or backend.found.find() is not None)


OTHERS = [name for name in backend_names() if name != "openvino" and Partitioner(name).table.rules and runs_here(find_backend(name))]
"""The backends that take operators of floats, and run them here."""


@pytest.fixture(scope="module", params=["ds_cnn", "lstm_classifier", "mobilenet_v3", "rows of any number"])
def journey(request: pytest.FixtureRequest) -> Journey:
    return start_journey(request.param, "openvino")


def check(journey: Journey, backends: Sequence[str], no_delegate: Sequence[str] = ()) -> set[str]:
    """Compiles it for backends, the first choice first, and runs it in the C runtime; gives the backends that it uses."""
    edge = journey.edge
    for backend in backends:
        edge = edge.to_backend(backend, no_delegate=no_delegate)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    journey.check(lambda call: method.execute(arrays(call)))
    return set(method.metadata.backend_names)


@pytest.mark.parametrize("other", OTHERS)
def test_it_agrees_with_each_other_backend_in_both_orders(journey: Journey, other: str):
    assert "OpenvinoBackend" in check(journey, ["openvino", other])
    check(journey, [other, "openvino"])


def test_any_one_operator_may_stay(journey: Journey):
    names = sorted({op.name for op in journey.edge.module.walk() if isinstance(op, SchemaOp)})
    assert len(names) > 3
    orders = ["openvino"], [*OTHERS, "openvino"]
    for name, backends in drawn(product(names, orders), parts=5):
        check(journey, backends, [name])


class Whole(torch.nn.Module):
    """Operators that are kept whole until it is known who runs them."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.silu(x) + torch.nn.functional.hardsigmoid(x)
        y = torch.nn.functional.scaled_dot_product_attention(y, x, x, is_causal=True)
        return torch.nn.functional.scaled_dot_product_attention(y, x, x, attn_mask=mask)


@pytest.mark.parametrize(
    ("backends", "kept"),
    [
        (("openvino",), ()),
        (("openvino",), ("silu",)),
        (("openvino",), ("scaled_dot_product_attention",)),
        (("openvino", *OTHERS), ("silu",)),
        ((*OTHERS, "openvino"), ()),
        ((*OTHERS, "openvino"), ("mul.Tensor",)),
    ],
)
def test_operators_that_are_whole_may_stay(backends: tuple[str, ...], kept: tuple[str, ...]):
    inputs = (torch.randn(1, 2, 4, 8), torch.ones(4, 4, dtype=torch.bool).tril().logical_not())
    context = FlambeauContext()
    module = import_program(torch.export.export(Whole(), inputs), context)
    data = Compilation(module, context, PipelineOptions(backends=partitioners(*backends), no_delegate=kept)).emit()
    (found,) = Runtime.get().load_program(data).load_method("forward").execute([tensor.numpy() for tensor in inputs])
    np.testing.assert_allclose(np.asarray(found), Whole()(*inputs).numpy(), rtol=1e-4, atol=1e-6)


def delegates_of(program: torch.export.ExportedProgram, backends: tuple[str, ...]) -> Counter[str]:
    """How many delegates of each backend a program has, by the backend's identifier."""
    context = FlambeauContext()
    data = Compilation(import_program(program, context), context, PipelineOptions(backends=partitioners(*backends))).emit()
    return Counter(delegate.id for delegate in read_program(bytes(data)).execution_plan[0].delegates)


@pytest.mark.parametrize("other", OTHERS)
def test_what_it_wants_whole_costs_an_earlier_backend_nothing(other: str):
    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.SiLU(), torch.nn.Linear(4, 4), torch.nn.SiLU()).eval()
    program, name = torch.export.export(layers, (torch.ones(2, 4),)), find_backend(other).identifier
    alone = delegates_of(program, (other,))
    assert alone[name] > 0 and delegates_of(program, (other, "openvino"))[name] == alone[name]


def test_the_command_line_compiles_and_runs_it(tmp_path: Path):
    source, target = tmp_path / "model.py", tmp_path / "model.pte"
    source.write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),)\n")
    for choice, kind in (("openvino", b"interchange"), ("openvino{compiled=true device=CPU}", b"compiled")):
        assert main(["compile", f"{source}:make", "--backend", choice, "-o", str(target)]) == 0
        assert kind in target.read_bytes()
        np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
        assert main(["run", str(target), "--input", str(tmp_path / "x.npy"), "--backend-option", "openvino.threads=2"]) == 0


def test_options_are_compile_specs():
    x = torch.ones(1, 4)
    program = torch.export.export(torch.nn.Linear(4, 2).eval(), (x,))
    edge = to_edge(program).to_backend(OpenvinoPartitioner([CompileSpec("precision", b"bf16")]))
    assert 'precision = "bf16"' in str(edge)
    with pytest.raises(ValueError, match="the precision is one of f32, f16, bf16, not 'f8'"):
        Partitioner("openvino{precision=f8}")


def test_a_device_that_is_absent_cannot_be_compiled_for():
    program = torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),))
    with pytest.raises(PassError, match=r"openvino: OpenVINO does not compile it for 'TPU': .*TPU") as caught:
        to_edge(program).to_backend("openvino{compiled=true device=TPU}")
    assert "Exception from" not in str(caught.value)


def test_without_the_package_only_compiling_now_fails(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    program = torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),))
    to_edge(program).to_backend("openvino").to_executorch()
    with pytest.raises(PassError, match=r"to compile now it needs the package openvino: pip install 'flambeau\[openvino\]'"):
        to_edge(program).to_backend("openvino{compiled=true}")


def test_nobody_is_told_that_openvino_is_imported(tmp_path: Path):
    """The package says so to what it takes for openvino_telemetry."""
    script = "import flambeau.backends.openvino.compiled as compiled; compiled.import_openvino(); import openvino_telemetry"
    (tmp_path / "openvino_telemetry.py").write_text("print('told')\n")
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "told\n", "only by the last import of the script"
