"""Reads an exported graph as a flat list of operator calls: regions that only set a mode are inlined, dead calls are dropped."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

Overload: TypeAlias = OpOverload[..., Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A call of an operator. The nodes within `args` and `kwargs` are the steps or placeholders that compute the values."""

    node: fx.Node
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def overload(self) -> Overload | None:
        """The operator, if it has a schema."""
        target = self.node.target
        return cast(Overload, target) if isinstance(target, OpOverload) else None

    @property
    def is_getitem(self) -> bool:
        """Whether the step selects one of several results."""
        return self.node.target is operator.getitem

    @property
    def name(self) -> str:
        """The operator's name for messages: `aten.add.Tensor`."""
        target, overload = self.node.target, self.overload
        if overload is not None:
            return overload.name().replace("::", ".")
        if isinstance(target, HigherOrderOperator):
            if self.args and isinstance(self.args[0], OpOverload):
                return cast(Overload, self.args[0]).name().replace("::", ".")
            return f"higher_order.{target.name()}"
        return target if isinstance(target, str) else getattr(target, "__name__", str(target))

    @property
    def is_number(self) -> bool:
        """Whether the step computes with numbers, or is an assertion."""
        value = self.node.meta.get("val")
        # Of a number that a check pins, a `.pt2` file keeps the number alone.
        return isinstance(value, int | float | torch.SymInt | torch.SymFloat | torch.SymBool) or self.overload in ASSERTIONS

    def inputs(self) -> Iterator[fx.Node]:
        """Yields the nodes among the arguments, at any depth."""
        yield from nodes_in((self.args, self.kwargs))


def schema_of(overload: Overload) -> torch.FunctionSchema:
    """Returns an operator's schema."""
    return overload._schema  # pyright: ignore[reportPrivateUsage] # the only way to it


def qualified(overload: Overload) -> tuple[str, str]:
    """Returns the namespace and base name of an operator."""
    namespace, _, base = schema_of(overload).name.partition("::")
    return namespace, base


def nodes_in(argument: Any) -> Iterator[fx.Node]:
    """Yields the nodes of an argument structure, in order."""
    if isinstance(argument, fx.Node):
        yield argument
    elif isinstance(argument, tuple | list):
        for item in cast("Iterable[Any]", argument):
            yield from nodes_in(item)
    elif isinstance(argument, dict):
        for item in cast("dict[str, Any]", argument).values():
            yield from nodes_in(item)


@dataclass(frozen=True, slots=True)
class FlatProgram:
    """The calls of a program in order."""

    placeholders: tuple[fx.Node, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Any, ...]
    """Nodes and constants, in the order of the graph signature."""


ASSERTIONS = (torch.ops.aten._assert_scalar.default, torch.ops.aten._assert_async.default, torch.ops.aten._assert_async.msg)
"""The operators that fail where something does not hold that only the run knows."""


def is_check(overload: Overload) -> bool:
    """Returns whether a step is an assertion about its arguments: it has no result and writes nothing."""
    schema = schema_of(overload)
    return not schema.returns and not schema.is_mutable


def flatten(module: fx.GraphModule) -> FlatProgram:
    """Returns the calls of a graph and of the mode regions within it, without those whose results are unused."""
    steps: list[Step] = []
    known: dict[fx.Node, Any] = {}
    placeholders = tuple(node for node in module.graph.nodes if node.op == "placeholder")
    outputs = _flatten(module, known, steps.append)
    live = set(nodes_in(outputs))
    kept: list[Step] = []
    for step in reversed(steps):
        overload = step.overload
        if overload is not None and is_check(overload) and overload not in ASSERTIONS:
            continue
        writes = overload is not None and (schema_of(overload).is_mutable or overload in ASSERTIONS)
        if writes or isinstance(step.node.target, HigherOrderOperator) or step.node in live:
            kept.append(step)
            live.update(step.inputs())
    return FlatProgram(placeholders, tuple(reversed(kept)), tuple(outputs))


def _flatten(module: fx.GraphModule, known: dict[fx.Node, Any], add: Callable[[Step], None]) -> Sequence[Any]:
    def resolve(argument: Any) -> Any:
        return fx.map_arg(argument, lambda node: known.get(node, node))

    for node in module.graph.nodes:
        if node.op == "output":
            outputs = resolve(node.args[0])
            return cast("Sequence[Any]", outputs) if isinstance(outputs, tuple | list) else (outputs,)
        if node.op == "get_attr":
            known[node] = _attribute(module, str(node.target))
            continue
        if node.op != "call_function":
            continue
        args, kwargs = resolve(node.args), resolve(node.kwargs)
        if node.target is operator.getitem and not isinstance(args[0], fx.Node):
            known[node] = args[0][args[1]]
        elif isinstance(node.target, type) and issubclass(node.target, tuple):
            # A call of the class that holds an operator's results by name.
            known[node] = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args
        elif (region := _mode_region(node, args)) is not None:
            body, operands = region
            inner = [inner for inner in body.graph.nodes if inner.op == "placeholder"]
            known.update(zip(inner, operands, strict=True))
            known[node] = _flatten(body, known, add)
        else:
            add(Step(node, args, kwargs))
    return ()


def _attribute(module: fx.GraphModule, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _mode_region(node: fx.Node, args: Sequence[Any]) -> tuple[fx.GraphModule, Sequence[Any]] | None:
    """Returns the body and operands of `torch.no_grad` or `torch.autocast(enabled=False)`, which are irrelevant for inference."""
    higher = torch.ops.higher_order
    if node.target is higher.wrap_with_set_grad_enabled:
        return args[1], args[2:]
    if node.target is higher.wrap_with_autocast and args[2] is False:
        return args[4], args[5:]
    return None
