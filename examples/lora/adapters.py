"""A foundation with several adapters: programs share a file of weights, and adapters are exchanged without recompilation.

    python examples/lora/adapters.py [FOLDER]

writes `foundation.pte` (the model), `adapted.pte` (the model with adapters of low rank), `foundation.ptd` (the weights that both read),
and a small `.ptd` for each adapter; then it runs all of them, and compares with PyTorch.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from flambeau import ExecutorchBackendConfig, Runtime, to_edge
from flambeau.runtime.emit import Constant

torch_functions: Any = torch  # PyTorch does not declare the types of these functions
WIDTH, RANK = 256, 4
ADAPTERS = ("formal", "casual")


class Foundation(nn.Module):
    """A module of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Applies the first layer, then the second."""
        return self.second(torch.relu(self.first(x)))


class Adapted(Foundation):
    """The foundation with an adapter added to each layer; the foundation's weights keep their names."""

    def __init__(self) -> None:
        super().__init__()
        self.lora_first = nn.Sequential(nn.Linear(WIDTH, RANK, bias=False), nn.Linear(RANK, WIDTH, bias=False))
        self.lora_second = nn.Sequential(nn.Linear(WIDTH, RANK, bias=False), nn.Linear(RANK, WIDTH, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        """Applies each layer plus its adapter."""
        y = torch.relu(self.first(x) + self.lora_first(x))
        return self.second(y) + self.lora_second(y)


def compile_to(path: Path, model: nn.Module, x: Tensor, adapter: str = "adapter") -> None:
    """Compiles a model to a `.pte` and to the `.ptd` files of its foundation and its adapter, beside `path`."""

    def file_of(constant: Constant) -> str:
        return adapter if constant.name.startswith("lora_") else "foundation"

    program = to_edge(torch.export.export(model, (x,))).to_executorch(ExecutorchBackendConfig(external_constants=file_of))
    program.save(path)
    program.write_tensor_data_to_file(path.parent)


def main(folder: Path) -> None:
    """Writes, runs and compares the programs."""
    torch_functions.manual_seed(0)
    x = torch.randn(1, WIDTH)
    foundation = Foundation().eval()
    compile_to(folder / "foundation.pte", foundation, x)
    shared = (folder / "foundation.ptd").read_bytes()

    adapted: dict[str, Adapted] = {}
    for name in ADAPTERS:
        model = adapted[name] = Adapted().eval()
        model.load_state_dict(foundation.state_dict(), strict=False)
        compile_to(folder / "adapted.pte", model, x, name)
        assert (folder / "foundation.ptd").read_bytes() == shared, "the programs do not share their foundation"

    for path in sorted(folder.glob("*.pt[ed]")):
        print(f"{path.name}: {path.stat().st_size} bytes")
    runtime = Runtime.get()
    for name, model in {"": foundation, **adapted}.items():
        files = [folder / "foundation.ptd", *([folder / f"{name}.ptd"] if name else [])]
        program = runtime.load_program(folder / ("adapted.pte" if name else "foundation.pte"), data_path=files)
        (y,) = program.load_method().execute([x])
        torch.testing.assert_close(torch.from_dlpack(y), model(x).detach())
        print(f"{name or 'foundation'}: {', '.join(file.name for file in files)}: as in PyTorch")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
