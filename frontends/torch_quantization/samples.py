"""Samples of a program's inputs, checked against the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from flambeau.support.suggestions import did_you_mean

Samples: TypeAlias = Mapping[str, Any] | Sequence[Sequence[Any]]
"""An array for each input by its name, or as `arg0`, whose first dimension counts samples; or the arguments of each call."""


class SamplesError(ValueError):
    """An error of samples that do not fit a program. The message is one line for the user."""


@dataclass(frozen=True)
class _Input:
    """An input of a program: a tensor like the example input, or the constant that the program was exported with."""

    name: str
    value: Any

    @property
    def shape(self) -> str:
        """The sizes of the input, for messages."""
        return f"[{', '.join(map(str, self.value.shape))}]"

    def check(self, given: Any, label: str) -> torch.Tensor:
        """Returns the checked tensor. Raises SamplesError."""
        try:
            tensor = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError) as error:
            raise SamplesError(f"{label} is not an array of numbers: {error}") from None
        if tensor.dtype != self.value.dtype:
            raise SamplesError(f"{label} has {_name(tensor)} samples, and the input takes {_name(self.value)}")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise SamplesError(f"{label} has samples with NaN or infinite numbers, from which no range follows")
        return tensor

    def takes(self, shape: Sequence[int]) -> bool:
        """Returns whether a sample has the sizes of the input; a dynamic size may be any."""
        own = self.value.shape
        return len(shape) == len(own) and all(
            isinstance(size, torch.SymInt) or size == given for size, given in zip(own, shape, strict=True)
        )


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def arguments_of(program: ExportedProgram, samples: Samples | None) -> list[list[Any]]:
    """Returns the leaves of all arguments for each sample; the example inputs of the program if there are no samples.

    Raises:
        SamplesError: the samples do not fit the program, or contain a NaN or infinite number.
    """
    inputs = _inputs(program)
    if samples is None:
        if program.example_inputs is None:
            raise SamplesError("the program has no example inputs: samples must be given")
        args, kwargs = program.example_inputs
        return [pytree.tree_leaves((args, kwargs))]
    found = (
        _by_name(inputs, samples)
        if isinstance(samples, Mapping)
        else [_in_order(inputs, index, item) for index, item in enumerate(samples)]
    )
    if not found:
        raise SamplesError("there are no samples: ranges follow from at least one")
    return found


def _by_name(inputs: Sequence[_Input], samples: Mapping[str, Any]) -> list[list[Any]]:
    tensors = {f"arg{index}": item for index, item in enumerate(item for item in inputs if isinstance(item.value, torch.Tensor))}
    known = {**tensors, **{item.name: item for item in tensors.values()}}
    for name in samples:
        if name not in known:
            raise SamplesError(f"the program has no input {name!r}; it has {_listed(tensors)}{did_you_mean(name, known)}")
    columns: dict[str, torch.Tensor] = {}
    for place, item in tensors.items():
        labels = [label for label in (item.name, place) if label in samples]
        if len(labels) != 1:
            what = "are no samples" if not labels else f"are samples twice, as {item.name} and {place},"
            raise SamplesError(f"there {what} for the input {item.name!r}; the program has {_listed(tensors)}")
        tensor = item.check(samples[labels[0]], repr(labels[0]))
        if not item.takes(tensor.shape[1:]):
            sizes = ", ".join(map(str, ("N", *item.value.shape)))
            raise SamplesError(f"{labels[0]!r} has the shape {[*tensor.shape]}, and N samples for this input have the shape [{sizes}]")
        columns[item.name] = tensor
    counts = {name: len(tensor) for name, tensor in columns.items()}
    if len({*counts.values()}) > 1:
        raise SamplesError(
            f"the inputs differ in how many samples they have: {', '.join(f'{key} {count}' for key, count in counts.items())}"
        )
    return [
        [columns[item.name][index] if item.name in columns else item.value for item in inputs]
        for index in range(next(iter(counts.values()), 0))
    ]


def _in_order(inputs: Sequence[_Input], index: int, sample: Sequence[Any]) -> list[Any]:
    given = pytree.tree_leaves(sample)
    if len(given) != len(inputs):
        raise SamplesError(f"sample {index} has {len(given)} arguments, and the program takes {len(inputs)}")
    leaves: list[Any] = []
    for item, value in zip(inputs, given, strict=True):
        label = f"sample {index}, input {item.name!r},"
        if not isinstance(item.value, torch.Tensor):
            leaves.append(item.value)
            continue
        tensor = item.check(value, label)
        if not item.takes(tensor.shape):
            raise SamplesError(f"{label} has the shape {[*tensor.shape]}, and the input takes {item.shape}")
        leaves.append(tensor)
    return leaves


def _listed(tensors: Mapping[str, _Input]) -> str:
    return ", ".join(f"{item.name} ({place}): {_name(item.value)} {item.shape}" for place, item in tensors.items())


def _inputs(program: ExportedProgram) -> list[_Input]:
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    found: list[_Input] = []
    for item in program.graph_signature.input_specs:
        if item.kind is InputKind.USER_INPUT:
            name = item.arg.name
            value = placeholders.get(name)
            found.append(_Input(name, value if isinstance(value, torch.Tensor) else getattr(item.arg, "value", value)))
    return found
