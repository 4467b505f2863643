"""The networks that boards run, in floats and in integers, and what they compute on the machine that compiles them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import flambeau
from flambeau.compiler.called_kernels import Selection
from flambeau.compiler.compilation import Compilation
from flambeau.passes.targets.interface import find_target
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program
from flambeau.runtime.scalar_types import BY_NAME

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "helpers")]


Network = tuple[nn.Module, tuple[Tensor, ...]]


class WakeWord(nn.Module):
    """Whether a word was said: a gated recurrent unit over the spectrum [N, T, C] of a second of sound."""

    def __init__(self, features: int = 40, hidden: int = 64):
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x: Tensor) -> Tensor:
        """The scores [N, 2]."""
        return self.head(self.gru(x)[0][:, -1])


class Speech(nn.Module):
    """The letters that are said at each time: convolutions over the spectrum [N, C, T] of a sound, in the manner of wav2letter."""

    def __init__(self, features: int = 40, letters: int = 29):
        super().__init__()
        sizes = ((features, 64, 11, 2), (64, 64, 7, 1), (64, 64, 7, 1), (64, 128, 9, 1), (128, 128, 1, 1))
        layers = ((nn.Conv1d(a, b, kernel, stride, kernel // 2), nn.ReLU()) for a, b, kernel, stride in sizes)
        self.layers = nn.Sequential(*(item for layer in layers for item in layer), nn.Conv1d(128, letters, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The scores [N, letters, T / 2]."""
        return self.layers(x)


def _digits() -> Network:
    from digits import TRAINING, digits, trained_cnn

    images, _ = digits()
    return trained_cnn(), (images[TRAINING : TRAINING + 1],)


def _ds_cnn() -> Network:
    from device_models import ds_cnn

    case = ds_cnn()
    return case.module, case.calls[0]


def _mobilenet_v2() -> Network:
    from models import narrow_mobilenet_v2

    return narrow_mobilenet_v2()


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "digits": _digits,
    "ds_cnn": _ds_cnn,
    "mobilenet_v2": _mobilenet_v2,
    "speech": lambda: (Speech().eval(), (torch.randn(1, 40, 48),)),
    "wake_word": lambda: (WakeWord().eval(), (torch.randn(1, 25, 40),)),
}
TYPES = ("float", "int8")


@dataclass(frozen=True)
class Case:
    """A network in both forms, and one call of it.

    Attributes:
        files: the program as C, by path.
        program: the `.pte`.
        operators: the operators that it calls.
        dtypes: the element types with which its kernels compute, a bit for the number of each.
        memory: the bytes that the `.pte` needs at run time on this machine; where addresses are shorter, it needs less.
        inputs: the bytes of each input.
        outputs: the bytes of each output on this machine.
    """

    files: Mapping[str, bytes]
    program: bytes
    operators: tuple[str, ...]
    dtypes: int
    memory: int
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


def exported(name: str, type: str, target: str = "flambeau") -> tuple[Any, tuple[Tensor, ...]]:
    """Returns a network that torch.export or `flambeau.quantize` captured, and its inputs."""
    untyped: Any = torch
    untyped.manual_seed(0)
    module, inputs = NETWORKS[name]()
    return captured(module, inputs, type, target), inputs


def captured(module: nn.Module, inputs: tuple[Tensor, ...], type: str, target: str = "flambeau") -> Any:
    """Returns a module as torch.export or `flambeau.quantize` captures it."""
    if type == "float":
        return torch.export.export(module, inputs)
    samples = [inputs, *(tuple(item * scale for item in inputs) for scale in (0.5, 1.1))]
    backend = target if find_target(target).numbers is not None else None
    return flambeau.quantize((module, inputs), samples, backend=backend).program


def compile_case(name: str, type: str, target: str = "flambeau") -> Case:
    """Compiles a network for a target, and runs it."""
    return case_of(*exported(name, type, target), target)


def case_of(program: Any, inputs: tuple[Tensor, ...], target: str) -> Case:
    """Compiles what was captured for a target, and runs it."""
    edge = flambeau.to_edge(program, compile_config=flambeau.EdgeCompileConfig(target=target))
    compiled = edge.to_executorch()
    data = bytes(compiled.buffer)
    loaded = Runtime.get().load_program(data)
    arrays = [item.numpy() for item in inputs]
    outputs: Any = loaded.load_method("forward").execute(arrays)
    metadata = loaded.metadata("forward")
    selection = Selection()
    selection.add(read_program(data))
    return Case(
        Compilation(compiled.module.clone(), compiled.context).emit_c("net"),
        data,
        metadata.operator_names,
        sum(1 << BY_NAME[name].number for name in selection.dtypes() or ()),
        metadata.memory.total + 64 * (2 + len(metadata.memory.arenas)),
        tuple(array.tobytes() for array in arrays),
        tuple(item.tobytes() for item in outputs),
    )
