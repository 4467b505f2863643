"""Writes the programs of the C tests with stock ExecuTorch: `python test/make_programs.py`.

They are kept in the repository because the tests need neither torch nor ExecuTorch, and because a file of today has to load tomorrow.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import executorch
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from functorch.experimental.control_flow import map as torch_map
from torch.export import Dim, export

FOLDER = Path(__file__).parents[1] / "runtime" / "c" / "test" / "programs"


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Linear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
        self.linear.weight.data = torch.arange(-16.0, 16.0).reshape(4, 8)
        self.linear.bias.data = torch.arange(4.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


class State(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count: torch.Tensor
        self.register_buffer("count", torch.full((3,), 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def double(x: torch.Tensor) -> torch.Tensor:
    return x + x


def square(x: torch.Tensor) -> torch.Tensor:
    return x * x


class Cond(torch.nn.Module):
    def forward(self, p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        control: Any = getattr(torch, "cond")  # noqa: B009  # its annotations are partly unknown
        return control(p, double, square, (x,))


class Siblings(torch.nn.Module):
    def forward(self, p: torch.Tensor, q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        control: Any = getattr(torch, "cond")  # noqa: B009  # its annotations are partly unknown
        return control(p, double, square, (x,)) + control(q, square, double, (x,))


class Map(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        control: Any = torch_map
        return control(torch.add, x, y)


class Scalar(torch.nn.Module):
    def forward(self, x: torch.Tensor, k: int) -> torch.Tensor:
        return x + x * k


class Lists(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        values, indices = torch.max(torch.cat([x, y, x], 1), 1)
        return {"values": values, "indices": indices, "x": x}


class Split(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = torch.split(x, [1, 2, 3], 1)
        return torch.cat([third, first, second], 1)


def save(name: str, module: torch.nn.Module, args: tuple[Any, ...], shapes: Any = None, **config: Any) -> None:
    edge = to_edge(export(module.eval(), args, dynamic_shapes=shapes), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(ExecutorchBackendConfig(**config))
    (FOLDER / f"{name}.pte").write_bytes(program.buffer)


def tensor(buffer: int, offset: int) -> dict[str, Any]:
    memory = {} if buffer else {"allocation_info": {"memory_id": 1, "memory_offset_low": offset, "memory_offset_high": 0}}
    return {"val_type": "Tensor", "val": {"scalar_type": "FLOAT", "sizes": [2], "dim_order": [0], "data_buffer_idx": buffer, **memory}}


def plan(values: list[dict[str, Any]], instruction: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "name": "forward",
        "values": values,
        "inputs": [0],
        "outputs": [len(values) - 1],
        "chains": [{"inputs": [], "outputs": [], "instructions": [instruction]}],
        "operators": [],
        "delegates": [],
        "non_const_buffer_sizes": [0, 32],
        **fields,
    }


def save_inline(name: str, program: dict[str, Any]) -> None:
    """A program whose data stand in the flatbuffer, with no extended header, as files were before 0.7."""
    wheel = Path(next(iter(executorch.__path__)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.json"
        path.write_text(json.dumps({"version": 0, **program}))
        subprocess.run([wheel / "data" / "bin" / "flatc", "--binary", "-o", folder, wheel / "schema" / "program.fbs", path], check=True)
        (FOLDER / f"{name}.pte").write_bytes(path.with_suffix(".pte").read_bytes())


def save_legacy() -> None:
    """Adds [1, 2], a constant."""
    values = [tensor(0, 0), tensor(1, 0), {"val_type": "Int", "val": {"int_val": 1}}, tensor(0, 16)]
    call = {"instr_args_type": "KernelCall", "instr_args": {"op_index": 0, "args": [0, 1, 2, 3, 3]}}
    one_and_two = [0, 0, 128, 63, 0, 0, 0, 64]
    method = plan(values, call, operators=[{"name": "aten::add", "overload": "out"}])
    save_inline("legacy", {"execution_plan": [method], "constant_buffer": [{"storage": []}, {"storage": one_and_two}]})


def save_delegate() -> None:
    """Two delegates of a backend called "Test", of which the method calls the second."""
    call = {"instr_args_type": "DelegateCall", "instr_args": {"delegate_index": 1, "args": [0, 1]}}
    delegates: list[dict[str, Any]] = [
        {"id": "Test", "processed": {"location": "INLINE", "index": 0}, "compile_specs": []},
        {"id": "Test", "processed": {"location": "INLINE", "index": 1}, "compile_specs": [{"key": "scale", "value": [3]}]},
    ]
    method = plan([tensor(0, 0), tensor(0, 16)], call, delegates=delegates)
    data = [{"data": [1, 2, 3]}, {"data": [4, 5]}]
    save_inline("delegate", {"execution_plan": [method], "backend_delegate_data": data})


def save_located() -> None:
    """Adds [1, 2], and says which three places of a model that comes from."""
    values = [tensor(0, 0), tensor(1, 0), {"val_type": "Int", "val": {"int_val": 1}}, tensor(0, 16)]
    call = {"instr_args_type": "KernelCall", "instr_args": {"op_index": 0, "args": [0, 1, 2, 3, 3]}}
    places = [{"filename": "model.py", "lineno": 12, "name": "layers.0"}, {"name": "head"}, {"filename": "other.py", "lineno": 3}]
    method = plan(values, call, operators=[{"name": "aten::add", "overload": "out"}])
    method["chains"][0]["stacktrace"] = [{"items": places}]
    save_inline("located", {"execution_plan": [method], "constant_buffer": [{"storage": []}, {"storage": [0, 0, 128, 63, 0, 0, 0, 64]}]})


def save_empty() -> None:
    """Multiplies a tensor without elements, which has no memory, with itself, in place."""
    nothing = {"val_type": "Tensor", "val": {"scalar_type": "FLOAT", "sizes": [0], "dim_order": [0]}}
    call = {"instr_args_type": "KernelCall", "instr_args": {"op_index": 0, "args": [1, 1, 1, 1]}}
    method = plan([tensor(0, 0), nothing], call, operators=[{"name": "aten::mul", "overload": "out"}], outputs=[0])
    save_inline("empty", {"execution_plan": [method], "constant_buffer": [{"storage": []}]})


def main() -> None:
    x, y = torch.ones(2, 3), torch.ones(2, 3)  # two: one tensor given twice is one input to the exporter
    save("add", Add(), (x, y))
    save("unplanned", Add(), (x, y), memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False))
    save("linear", Linear(), (torch.ones(2, 8),))
    save("dynamic", Linear(), (torch.ones(3, 8),), {"x": {0: Dim("rows", min=1, max=6)}})
    save("state", State(), (torch.ones(3),), passes=[InitializedMutableBufferPass(["count"])])
    save("cond", Cond(), (torch.tensor(True), torch.ones(3)))
    save("siblings", Siblings(), (torch.tensor(True), torch.tensor(True), torch.ones(3)))
    save("map", Map(), (torch.ones(4, 3), torch.ones(3)))
    save("scalar", Scalar(), (torch.ones(3), 3))
    save("lists", Lists(), (x, y))
    save("split", Split(), (torch.ones(2, 6),))
    save_legacy()
    save_delegate()
    save_located()
    save_empty()


if __name__ == "__main__":
    main()
