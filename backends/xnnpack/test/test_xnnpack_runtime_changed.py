"""Payloads with changed bytes never crash, under the sanitizers; each is refused in one line or runs."""

import os
import subprocess
from pathlib import Path

import executorch
import pytest
from executorch.backends.xnnpack.serialization import xnnpack_graph_schema as xnn
from test_xnnpack_runtime import DYNAMIC, NETS, stock
from test_xnnpack_runtime_payloads import Graph, random

from flambeau.runtime import include_folder

SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-std=c11"]
SEEDS = ("mlp", "convolutions", "transposed", "average pooling", "padding", "concatenation", "slice", "transpose and reshape", "bmm")
COUNT = 1500


@pytest.fixture(scope="module")
def changer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here, core = Path(__file__).parent, include_folder().parent / "core"
    program = tmp_path_factory.mktemp("changed") / "changed_payloads"
    sources = [here / "changed_payloads.c", *(here.parent / "runtime").glob("*.c"), *core.glob("*.c")]
    subprocess.run(["cc", *SANITIZE, f"-I{core.parent}", f"-I{include_folder()}", *sources, "-lm", "-ldl", "-o", program], check=True)
    return program


def edges() -> bytes:
    """Tensors after which nothing may be read: inputs and outputs where the caller has them, and a constant at the end of the program."""
    graph = Graph((1, 4, 5, 3))
    graph.node(xnn.XNNStaticResizeBilinear2D(7, 9, 0, large := graph.value((1, 7, 9, 3)), 0))
    graph.node(xnn.XNNMultiply(large, graph.constant(random(3)), graph.output((1, 7, 9, 3)), 0))
    return graph.program()


def test_changed_payloads_are_refused_or_run(changer: Path, tmp_path: Path):
    programs = {name: stock(*NETS[name]) for name in SEEDS}
    programs |= {name: stock(model, calls[0], dynamic_shapes=sizes) for name, (model, calls, sizes) in DYNAMIC.items()}
    programs["edges"] = edges()
    paths = [tmp_path / f"{name}.pte" for name in programs]
    for path, program in zip(paths, programs.values(), strict=True):
        path.write_bytes(program)
    library = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
    settings = {"FLAMBEAU_XNNPACK_LIBRARY": str(library), "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512"}
    command = [changer, str(COUNT), "1", *paths]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    refused, late, ran = (int(word) for word in done.stdout.replace(",", "").split() if word.isdigit())
    assert refused + late + ran == COUNT * len(paths)
    assert min(refused, late, ran) > 0, done.stdout
