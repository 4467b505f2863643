"""Sizes in bytes of a program's parts, by part of the file, module and operator of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from flambeau.compiler.program_profile import UNKNOWN_PLACE, module_of
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime import pte
from flambeau.runtime.emit.named_data import KEY
from flambeau.runtime.emit.pte_reader import from_program

SizeBy = Literal["part", "module", "operator"]
"""The kinds of rows of a report of sizes."""

SIZE_BY: tuple[SizeBy, ...] = get_args(SizeBy)


@dataclass
class SizeRow:
    """The bytes of a part, a module or an operator.

    Attributes:
        name: a part of the file, a module, or an operator or backend.
        weights: the bytes of constants and of the first values of state.
        delegates: the bytes of payloads, and of the named data that payloads read.
        other: all other bytes.
        items: the number of constants, states, payloads and other parts that the row counts.
    """

    name: str
    weights: int = 0
    delegates: int = 0
    other: int = 0
    items: int = 0

    @property
    def bytes(self) -> int:
        """All bytes."""
        return self.weights + self.delegates + self.other


@dataclass(frozen=True)
class _Owner:
    """The instruction that a piece of data is attributed to: the first instruction that reads the data."""

    module: str
    operator: str


def program_sizes(data: bytes, by: SizeBy = "part") -> list[SizeRow]:
    """Returns rows, largest first, whose sum is the size of a `.pte`. Raises PteError."""
    program = pte.read_program(data)
    rows = _parts(program) if by == "part" else _owned(program, by)
    known = sum(row.bytes for row in rows)
    rest = "instructions and values" if by == "part" else "everything else"
    return [*sorted(rows, key=lambda row: -row.bytes), SizeRow(rest, other=len(data) - known)]


def _parts(program: pte.Program) -> list[SizeRow]:
    """Returns the rows of a file's parts, except the row of its tables."""
    states = [state for states in program.mutable_data for state in states if state]
    constants = [constant for constant in program.constants if constant]
    payloads = list(_distinct(delegate.processed for plan in program.execution_plan for delegate in plan.delegates))
    named = [item for item in program.named_data if item.key != KEY]
    rows = [
        SizeRow("weights", weights=_total(constants), items=len(constants)),
        SizeRow("first values of state", weights=_total(states), items=len(states)),
        SizeRow("payloads of delegates", delegates=_total(payloads), items=len(payloads)),
        SizeRow("named data", delegates=_total(item.data for item in named), items=len(named)),
        SizeRow("names and memory of methods", other=_total(item.data for item in program.named_data if item.key == KEY)),
        SizeRow("places in the model", other=_tables(program) - _tables(_stripped(program))),
    ]
    return [row for row in rows if row.bytes]


def _owned(program: pte.Program, by: SizeBy) -> list[SizeRow]:
    rows: dict[str, SizeRow] = {}
    named_data = {item.key: item.data for item in program.named_data}
    counted: set[object] = set()
    reads = _named_data_of_payloads(program)

    def count(owner: _Owner, key: object, *, weights: int = 0, delegates: int = 0) -> None:
        if key in counted:
            return
        counted.add(key)
        name = owner.module if by == "module" else owner.operator
        row = rows.setdefault(name, SizeRow(name))
        row.weights, row.delegates, row.items = row.weights + weights, row.delegates + delegates, row.items + 1

    for plan in program.execution_plan:
        for step, frames in _steps(plan):
            owner = _owner(plan, step, frames)
            for index in _arguments(plan, step):
                value = plan.values[index]
                if isinstance(value, pte.Tensor) and value.data_buffer_idx and not _is_external(value):
                    source = program.mutable_data[0] if value.allocation_info is not None else program.constants
                    key = ("state" if value.allocation_info is not None else "constant", value.data_buffer_idx)
                    count(owner, key, weights=len(source[value.data_buffer_idx]))
            if isinstance(step, pte.DelegateCall):
                payload = bytes(plan.delegates[step.delegate_index].processed)
                count(owner, payload, delegates=len(payload))
                for name in reads.get(payload, ()):
                    count(owner, ("named", name), delegates=len(named_data[name]))
    return list(rows.values())


def _steps(plan: pte.ExecutionPlan) -> Iterator[tuple[pte.Instruction, tuple[pte.Frame, ...]]]:
    for chain in plan.chains:
        frames = [tuple(found.items) for found in chain.stacktrace or ()]
        for number, step in enumerate(chain.instructions):
            yield step, frames[number] if number < len(frames) else ()


def _owner(plan: pte.ExecutionPlan, step: pte.Instruction, frames: Sequence[pte.Frame]) -> _Owner:
    match step:
        case pte.KernelCall():
            operator = plan.operators[step.op_index].full_name
        case pte.DelegateCall():
            operator = plan.delegates[step.delegate_index].id
        case _:
            operator = UNKNOWN_PLACE
    return _Owner(module_of(frames), operator)


def _arguments(plan: pte.ExecutionPlan, step: pte.Instruction) -> Iterator[int]:
    """Yields the values that an instruction refers to, including those in lists."""
    match step:
        case pte.KernelCall() | pte.DelegateCall():
            given: Sequence[int] = step.args
        case pte.MoveCall():
            given = (step.move_from,)
        case _:
            given = ()
    for index in given:
        yield index
        value = plan.values[index]
        if isinstance(value, pte.TensorList | pte.OptionalTensorList):
            yield from (item for item in value.items if item != -1)


def _is_external(tensor: pte.Tensor) -> bool:
    """Returns whether the bytes of a tensor are in another file."""
    return tensor.extra_tensor_info is not None and tensor.extra_tensor_info.location is pte.TensorDataLocation.EXTERNAL


def _named_data_of_payloads(program: pte.Program) -> Mapping[bytes, Sequence[str]]:
    """Returns the keys of named data that each payload reads, by the payload's bytes; backends name the keys."""
    context = FlambeauContext()
    try:
        module = from_program(program, context)
    except pte.PteError:
        return {}
    named_data, found = named_data_of(module, context.blobs), dict[bytes, Sequence[str]]()
    for op in module.body.block.ops:
        if isinstance(op, PayloadOp):
            try:
                found[bytes(context.blobs.get(op.data))] = disassemble(op, named_data, context.blobs).named_data
            except BackendError:
                continue
    return found


def _distinct(items: Iterable[memoryview]) -> Iterator[memoryview]:
    yield from {bytes(item): item for item in items}.values()


def _total(items: Iterable[memoryview]) -> int:
    return sum(map(len, items))


def _stripped(program: pte.Program) -> pte.Program:
    plans = [replace(plan, chains=tuple(replace(chain, stacktrace=None) for chain in plan.chains)) for plan in program.execution_plan]
    return replace(program, execution_plan=tuple(plans))


def _tables(program: pte.Program) -> int:
    """Returns the size in bytes of a program's tables, which are everything except its data."""
    parts = pte.write_program(program)
    return len(parts[0]) + (len(parts[1]) if len(parts) > 1 else 0)
