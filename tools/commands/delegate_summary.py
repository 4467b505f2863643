"""The delegates of a program, in a line each: backend, state, tool, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.dialects.delegate.ops import CallOp, PayloadOp
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.passes.delegation.contents import Origin, estimates_of, origin_of
from flambeau.passes.delegation.interface import State, find_identifier


@dataclass(frozen=True)
class DelegateSummary:
    """A payload of a program.

    Attributes:
        backend: the identifier of its backend.
        origin: its state, and the tool that made it.
        arguments: the numbers of its inputs and outputs; None if nothing calls it and it does not say its type.
        estimates: what the tool that made it expects of a call, by names that end with the unit. Equal delegates may differ in it.
    """

    backend: str
    origin: Origin
    arguments: tuple[int, int] | None
    estimates: Mapping[str, float] = field(compare=False)

    @property
    def properties(self) -> str:
        """All that is known but the backend, in words; empty for nothing."""
        words = [str(self.origin)]
        for count, noun in zip(self.arguments or (), ("input", "output"), strict=False):
            words.append(f"{count} {noun}{'' if count == 1 else 's'}")
        return ", ".join(filter(None, words))

    @property
    def expected(self) -> str:
        """The estimates in words, which name who made them; empty without any."""
        words = ", ".join(f"{value:.15g} {name.replace('_', ' ')}" for name, value in self.estimates.items())
        return words and f"estimated by {self.origin.made_by or 'its compiler'}: {words}"


def delegate_summaries(module: ModuleOp, method: str | None = None) -> dict[str, DelegateSummary]:
    """Returns the payloads of a module by name: all of them, or those that a method calls."""
    called = dict(_calls(module, method))
    return {
        op.sym_name.data: DelegateSummary(op.backend.data, origin_of(op), called.get(op.sym_name.data, _declared(op)), estimates_of(op))
        for op in module.body.block.ops
        if isinstance(op, PayloadOp) and (method is None or op.sym_name.data in called)
    }


def _calls(module: ModuleOp, method: str | None) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields the delegates that are called, with the numbers of inputs and outputs."""
    for function in module.body.block.ops:
        if isinstance(function, FuncOp | MethodOp) and method in (None, function.sym_name.data):
            for op in function.walk():
                if isinstance(op, DelegateCallOp):
                    yield op.delegate.string_value(), (len(op.ins), len(op.outs))
                elif isinstance(op, CallOp):
                    yield op.callee.string_value(), (len(op.operands), len(op.results))


def _declared(op: PayloadOp) -> tuple[int, int] | None:
    return None if op.function_type is None else (len(op.function_type.inputs), len(op.function_type.outputs))


def how_delegates_run(module: ModuleOp, method: str, engine: str) -> list[str]:
    """Returns a line for each kind of delegates that a method calls: what it is, and who runs it.

    Numpy and simulators are no device, and an interchange format runs on none.
    """
    counts = Counter(delegate_summaries(module, method).values())
    return [
        f"{'delegate' if count == 1 else f'{count} delegates'} of {each.backend}{_rest(each, engine)}" for each, count in counts.items()
    ]


def _rest(each: DelegateSummary, engine: str) -> str:
    backend = find_identifier(each.backend)
    if engine == "c":
        who, is_elsewhere = "the C runtime", each.origin.state == State.INTERCHANGE
    else:
        is_simulated = backend is not None and backend.simulate is not None
        who, is_elsewhere = "its simulator" if is_simulated else engine, each.origin.state != State.REFERENCE
    properties = each.properties and f", {each.properties}"
    return f"{properties}: run by {who}{', not on its device' if is_elsewhere else ''}"
