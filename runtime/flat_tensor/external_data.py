"""Puts the weights of `.ptd` files into the program that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flambeau.runtime.flat_tensor.flat_tensor_file import FlatTensorError, NamedTensor, TensorLayout, read_flat_tensor
from flambeau.runtime.pte import (
    ExecutionPlan,
    ExtraTensorInfo,
    NamedData,
    Program,
    Tensor,
    TensorDataLocation,
    program_in,
    read_program,
    write_program,
)
from flambeau.runtime.pte.records import EMPTY

if TYPE_CHECKING:
    from typing_extensions import Buffer

DataPath: TypeAlias = str | PathLike[str]
"""The path of a `.ptd` file."""

_MOST_NAMES = 5
"""The number of names that a message shows."""


def external_info(tensor: Tensor) -> ExtraTensorInfo | None:
    """Returns the extra information of a tensor whose data are in another file; None if they are in the program."""
    extra = tensor.extra_tensor_info
    return extra if extra is not None and extra.location is TensorDataLocation.EXTERNAL else None


def external_names(program: Program) -> list[str]:
    """Returns the names of a program's data in other files, in the order of their first use."""
    infos = [external_info(value) for plan in program.execution_plan for value in plan.values if isinstance(value, Tensor)]
    return list(dict.fromkeys(info.fully_qualified_name or "" for info in infos if info is not None))


def read_data_files(paths: DataPath | Sequence[DataPath]) -> dict[str, NamedTensor]:
    """Returns all data of one or several `.ptd` files, by name.

    Raises:
        FlatTensorError: a file is not a `.ptd` or is damaged, or two files have data of one name.
        OSError: a file cannot be read.
    """
    merged: dict[str, NamedTensor] = {}
    homes: dict[str, str] = {}
    for path in [paths] if isinstance(paths, str | PathLike) else paths:
        try:
            found = read_flat_tensor(Path(path).read_bytes())
        except FlatTensorError as error:
            raise FlatTensorError(f"{fspath(path)}: {error}") from error
        for key, item in found.items():
            if key in merged:
                raise FlatTensorError(f"{fspath(path)}: {key!r} is in {homes[key]} already: give one of these files")
            merged[key], homes[key] = item, fspath(path)
    return merged


def link(program: Program, data: Mapping[str, NamedTensor]) -> Program:
    """Returns the program with the data that it names in other files.

    Raises:
        FlatTensorError: `data` lacks a name, or has it with another type, shape or layout; or a delegate's data are in both.
    """
    if missing := [name for name in external_names(program) if name not in data]:
        shown = ", ".join(map(repr, missing[:_MOST_NAMES])) + (f" and {len(missing) - _MOST_NAMES} more" if missing[_MOST_NAMES:] else "")
        raise FlatTensorError(f"weights of the program are in .ptd files that were not given: {shown}")
    known = {item.key for item in program.named_data}
    if both := [key for key in data if key in known]:
        raise FlatTensorError(f"data called {both[0]!r} is in the program and in a .ptd file")
    named = tuple(NamedData(item.key, item.data) for item in data.values() if item.tensor_layout is None)
    linker = _Linker(program, data)
    plans = tuple(map(linker.plan, program.execution_plan))
    mutable = (tuple(linker.initial_values), *program.mutable_data[1:]) if len(linker.initial_values) > 1 else program.mutable_data
    return replace(
        program, execution_plan=plans, constants=tuple(linker.constants), mutable_data=mutable, named_data=(*program.named_data, *named)
    )


def link_files(program: Buffer, paths: DataPath | Sequence[DataPath]) -> bytes:
    """Returns the bytes of a `.pte` like `program`, a `.pte` or `.bpte`, with the weights that it names in these `.ptd` files.

    Raises:
        PteError: `program` is not a program, or is damaged.
        FlatTensorError, OSError: as from `read_data_files` and `link`.
    """
    records = read_program(program_in(program))
    return b"".join(write_program(link(records, read_data_files(paths))))


class _Linker:
    def __init__(self, program: Program, data: Mapping[str, NamedTensor]):
        self.data = data
        self.constants = list(program.constants)
        self.initial_values = list(program.mutable_data[0] if program.mutable_data else (EMPTY,))
        self.indices: dict[tuple[bool, str], int] = {}

    def plan(self, plan: ExecutionPlan) -> ExecutionPlan:
        """Returns the method with tensors that have their data in the program."""
        return replace(plan, values=tuple(self._value(plan, value) if isinstance(value, Tensor) else value for value in plan.values))

    def _value(self, plan: ExecutionPlan, tensor: Tensor) -> Tensor:
        if (info := external_info(tensor)) is None:
            return tensor
        key = info.fully_qualified_name or ""
        item = self.data[key]
        wanted = TensorLayout(tensor.scalar_type, tensor.sizes, tensor.dim_order)
        if item.tensor_layout != wanted:
            found = "no tensor" if item.tensor_layout is None else str(item.tensor_layout)
            raise FlatTensorError(f"method {plan.name!r} takes {key!r} as {wanted}, and the .ptd file has {found}")
        is_mutable = tensor.allocation_info is not None
        entries = self.initial_values if is_mutable else self.constants
        if (is_mutable, key) not in self.indices:
            self.indices[is_mutable, key] = len(entries)
            entries.append(item.data)
        index = self.indices[is_mutable, key]
        return replace(tensor, data_buffer_idx=index, extra_tensor_info=replace(info, location=TensorDataLocation.SEGMENT))
