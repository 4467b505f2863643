"""ETRecord, ExecuTorch's record of how a program was compiled, which its Inspector reads beside an ETDump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from flambeau.compiler.memory_report import methods_of
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, InstructionOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ViewOp
from flambeau.dialects.ir.locations import handle_of, handles_of
from flambeau.passes.delegation.contents import recorded_handles
from flambeau.runtime.binding.recorded_runs import DELEGATE_EVENT, kernel_event
from flambeau.support.executorch_names import ExplainsMembers

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from flambeau.runtime.bundled_program import BundledProgram

FORWARD = "forward"
"""The method of which ExecuTorch's Inspector reads a record."""


@dataclass(frozen=True)
class InstructionMaps:
    """Facts about the instructions of a program, by method and instruction number.

    Attributes:
        debug_handle_map: the debug handles of the calls in the exported program that an instruction computes, the result's handle last.
        delegate_map: for calls of delegates, the `name` of the backend, and a `delegate_map` from the operators inside, by their numbers,
            to debug handles.
        instruction_id_to_num_outs_map: the number of tensors that an instruction returns; 1 for kernels.
        event_names: the names of the events of kernels and delegates in an ETDump; ExecuTorch's own records lack these names.
    """

    debug_handle_map: dict[str, dict[int, list[int]]] = field(default_factory=dict[str, dict[int, list[int]]])
    delegate_map: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict[str, dict[int, dict[str, Any]]])
    instruction_id_to_num_outs_map: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    event_names: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])


def instruction_maps(module: ModuleOp) -> InstructionMaps:
    """Returns the maps of a planned module."""
    found = InstructionMaps()
    payloads = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PayloadOp)}
    handed = {name: recorded_handles(payload) for name, payload in payloads.items()}
    for name, method in methods_of(module).items():
        steps = method.steps
        calls = {number: op for number, op in enumerate(steps) if isinstance(op, DelegateCallOp)}
        found.debug_handle_map[name] = {number: handles for number, handles in enumerate(_handles(method, steps, handed)) if handles}
        found.delegate_map[name] = {
            number: {
                "name": payloads[call.delegate.string_value()].backend.data,
                "delegate_map": dict(enumerate(map(list, _inside(call, handed)))),
            }
            for number, call in calls.items()
        }
        found.instruction_id_to_num_outs_map[name] = {
            number: len(calls[number].outs) if number in calls else 1 for number in range(len(steps))
        }
        found.event_names[name] = {number: event_of(op) for number, op in enumerate(steps) if isinstance(op, CallOp | DelegateCallOp)}
    return found


def event_of(op: CallOp | DelegateCallOp) -> str:
    """Returns the name of the events of an instruction in an ETDump."""
    return kernel_event(op.operator.data) if isinstance(op, CallOp) else DELEGATE_EVENT


def _inside(call: DelegateCallOp, handed: Mapping[str, Sequence[tuple[int, ...]]]) -> Sequence[tuple[int, ...]]:
    return handed[call.delegate.string_value()]


def _handles(method: MethodOp, steps: Sequence[InstructionOp], handed: Mapping[str, Sequence[tuple[int, ...]]]) -> list[list[int]]:
    """Returns the handles of each instruction: the handles of the calls that it computes, with the handle of its result last.

    The last instruction of a call may compute a value that no call of the exported program has, such as a result in another layout. Then
    this instruction also gets the handles of the instruction that reads the value.
    """
    views: dict[SSAValue, list[SSAValue]] = {}
    for slot in method.slots:
        if isinstance(slot, ViewOp):
            source = slot.source
            while isinstance(source.owner, ViewOp):
                source = source.owner.source
            views.setdefault(source, []).append(slot.slot)
    calls = [
        [handle for handles in _inside(op, handed) for handle in handles]
        if isinstance(op, DelegateCallOp)
        else list(handles_of(op.location))
        for op in steps
    ]
    written: set[SSAValue] = set()
    named: list[list[int]] = []
    for op, own in zip(steps, calls, strict=True):
        writes = reads_and_writes(op)[1]
        # A slot has the name of the first value in it, which a loop or another branch replaces.
        named.append(list(dict.fromkeys(own)) if written.intersection(writes) else _named(writes, views, own))
        written.update(writes)
    done = {handle for handles in named for handle in handles}
    found: list[list[int]] = [[] for _ in steps]
    readers: dict[SSAValue, int] = {}
    for number in range(len(steps) - 1, -1, -1):
        op = steps[number]
        reads, writes = reads_and_writes(op)
        handles = calls[number]
        if not named[number] and not done & set(handles):
            later = [readers[slot] for value in writes for slot in (value, *views.get(value, ())) if slot in readers]
            handles = [*handles, *(handle for reader in later[:1] for handle in found[reader])]
        found[number] = [*dict.fromkeys(handle for handle in handles if handle not in named[number]), *named[number]]
        done.update(handles)
        for value in writes:
            readers.pop(value, None)
        readers.update(dict.fromkeys(reads, number))
    return found


def _named(writes: Sequence[SSAValue], views: Mapping[SSAValue, Sequence[SSAValue]], calls: Sequence[int]) -> list[int]:
    """Returns the debug handles of the calls whose results an instruction writes, from the names of the written slots.

    If these names have no handle, returns the handles in the names of the slots' views, as far as `calls` contains them.
    """
    own = [handle for value in writes if (handle := handle_of(value)) is not None]
    viewed = [handle for value in writes for view in views.get(value, ()) if (handle := handle_of(view)) in calls and handle is not None]
    return list(dict.fromkeys(own or viewed))


@dataclass
class ETRecord(ExplainsMembers):
    """A record of how a program was compiled. `to_edge(…, generate_etrecord=True)` and `get_etrecord()` give one.

    Attributes:
        edge_dialect_program: the exported programs at their import, by method. Their nodes have debug handles.
        maps: the facts about the compiled program's instructions.
    """

    edge_dialect_program: Mapping[str, ExportedProgram]
    maps: InstructionMaps
    _representative_inputs: Sequence[object] | None = None
    _reference_outputs: Mapping[str, Sequence[object]] | None = None

    def update_representative_inputs(self, representative_inputs: Sequence[object] | BundledProgram) -> None:
        """Sets the inputs of `forward` for which the Inspector computes reference values; by default the example inputs of the export."""
        suites = getattr(representative_inputs, "method_test_suites", None)
        if suites is None:
            self._representative_inputs = representative_inputs  # pyright: ignore[reportAttributeAccessIssue]: without suites, a sequence
            return
        cases = [suite.test_cases for suite in suites if suite.method_name == FORWARD]
        if not cases or not cases[0]:
            raise ValueError("update_representative_inputs: the bundled program has no test case of the method 'forward'")
        self._representative_inputs = cases[0][0].inputs

    def update_reference_outputs(self, reference_outputs: Mapping[str, Sequence[object]] | Sequence[object] | BundledProgram) -> None:
        """Sets the expected outputs of the methods, by method name and test case; a list applies to `forward`."""
        suites = getattr(reference_outputs, "method_test_suites", None)
        if suites is not None:
            found = {suite.method_name: [case.expected_outputs for case in suite.test_cases] for suite in suites}
        else:
            found = reference_outputs if isinstance(reference_outputs, Mapping) else {FORWARD: reference_outputs}
        self._reference_outputs = found  # pyright: ignore[reportAttributeAccessIssue]: a bundled program has suites

    def save(self, path: str | PathLike[str] | IO[bytes]) -> None:
        """Writes the file, for the `Inspector` of ExecuTorch or of Flambeau. Raises ModuleNotFoundError without the package executorch."""
        from flambeau.frontends.torch_export.etrecord_file import example_leaves, write_etrecord

        inputs = self._representative_inputs
        if inputs is None:
            inputs = example_leaves(self.edge_dialect_program.get(FORWARD) or next(iter(self.edge_dialect_program.values())))
        write_etrecord(path, self.edge_dialect_program, vars(self.maps), inputs, self._reference_outputs)
