"""Rewrites subgraphs that write to their operands to return the new values instead; the calling graph writes them.

Without gradients, `torch.export` lets the branches of `cond` and the bodies of `while_loop` write to buffers, and passes them operands that
share memory. PyTorch's own functionalisation rejects such programs and accepts the rewritten programs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, cast

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch.export import ExportedProgram

from flambeau.frontends.torch_export.exported_graph import FlatProgram, Overload, flatten, nodes_in
from flambeau.frontends.torch_export.functionalization import Aliases, argument, mutated_arguments

_LOOP = torch.ops.higher_order.while_loop
_OPERANDS: dict[Any, Callable[[Sequence[Any]], Sequence[Any]]] = {
    torch.ops.higher_order.cond: lambda args: args[3],
    _LOOP: lambda args: (*args[2], *args[3]),
}
"""The operands of the subgraphs of a call, from the call's arguments."""


def have_subgraph_writes(module: fx.GraphModule) -> bool:
    """Returns whether an operator in a subgraph writes to an argument."""
    subgraphs = [item for item in module.modules() if item is not module and isinstance(item, fx.GraphModule)]
    targets = [cast(object, node.target) for subgraph in subgraphs for node in subgraph.graph.nodes]
    return any(isinstance(target, OpOverload) and mutated_arguments(cast(Overload, target)) for target in targets)


def without_subgraph_writes(program: ExportedProgram) -> ExportedProgram:
    """Returns the program with writes to subgraphs' operands moved after the calls if equivalent, and without shared operands."""
    if not any(isinstance(node.target, HigherOrderOperator) for node in program.graph.nodes):
        return program
    return cast(Any, program)._update(_rewritten(program.graph_module), program.graph_signature)


def _rewritten(module: fx.GraphModule) -> fx.GraphModule:
    result = fx.GraphModule(module, deepcopy(module.graph))
    for node in list(result.graph.nodes):
        if node.op == "get_attr" and isinstance(constant := getattr(result, str(node.target)), torch.Tensor):
            _compute(node, constant)
        if not isinstance(node.target, HigherOrderOperator):
            continue
        held = {item: getattr(result, str(item.target)) for item in node.all_input_nodes if item.op == "get_attr"}
        subgraphs = {item: _rewritten(found) for item, found in held.items() if isinstance(found, fx.GraphModule)}
        if node.target not in _OPERANDS:
            subgraphs = {item: _with_own_results(found) for item, found in subgraphs.items()}
        if node.target in _OPERANDS:
            _merge(node, list(subgraphs.values()))
        written = sorted({index for subgraph in subgraphs.values() for index in _written(subgraph)})
        if written and not _can_follow(node, list(subgraphs.values()), written, flatten(result)):
            continue
        if node.target in _OPERANDS:
            _separate(node, written, flatten(result))
            if written:
                _write_after(node, list(subgraphs.values()), written)
        for item, subgraph in subgraphs.items():
            name = f"{item.target}_of_{node.name}"
            setattr(result, name, subgraph)
            with result.graph.inserting_before(node):
                node.replace_input_with(item, result.graph.get_attr(name))
    result.graph.eliminate_dead_code(lambda node: node.op != "get_attr")
    found = fx.GraphModule(result, result.graph)
    found.meta = copy(module.meta)
    return found


def _with_own_results(module: fx.GraphModule) -> fx.GraphModule:
    """Makes a graph return copies of results that share memory with an operand, such as `x.real`; `map` and `scan` copy them anyway."""
    program = flatten(module)
    aliases = _aliases(program)
    known, end = set(program.placeholders), module.graph.output_node()
    for node in dict.fromkeys(nodes_in(program.outputs)):
        family = aliases.family(node)
        if not known.isdisjoint(family) and node not in program.placeholders:
            with module.graph.inserting_before(end):
                given = module.graph.call_function(torch.ops.aten.clone.default, (node,))
            given.meta = {**node.meta, "val": node.meta["val"].clone()}
            end.replace_input_with(node, given)
        known |= family
    module.recompile()
    return module


def _compute(node: fx.Node, constant: torch.Tensor) -> None:
    """Replaces a constant number, as in `x[0] = 7`, by a computed number: PyTorch's functionalisation rejects constants of subgraphs."""
    if constant.numel() == 1:
        with node.graph.inserting_before(node):
            number = node.graph.call_function(
                torch.ops.aten.full.default, (list(constant.shape), constant.item()), {"dtype": constant.dtype}
            )
        number.meta = {**node.meta, "val": next(iter(node.users)).meta["val"]}
        node.replace_all_uses_with(number)
        node.graph.erase_node(node)


def _aliases(program: FlatProgram) -> Aliases:
    aliases = Aliases(program)
    for step in program.steps:
        aliases.add(step)
    return aliases


def _written(module: fx.GraphModule) -> set[int]:
    """Returns the numbers of the placeholders to whose memory a graph writes."""
    program = flatten(module)
    targets = [argument(step, index) for step in program.steps if step.overload is not None for index in mutated_arguments(step.overload)]
    if not targets:
        return set()
    aliases = _aliases(program)
    families = [aliases.family(node) for node in nodes_in(targets)]
    return {index for index, node in enumerate(program.placeholders) if any(node in family for family in families)}


def _can_follow(node: fx.Node, subgraphs: Sequence[fx.GraphModule], written: Sequence[int], program: FlatProgram) -> bool:
    """Returns whether writes to operands can follow a call: its subgraphs must see the written memory as one operand only."""
    aliases = _aliases(program)
    if node.target not in _OPERANDS:
        operands: Sequence[Any] = [item for item in node.all_input_nodes if item.op != "get_attr"]
        return not any(_is_shared(aliases, operands, index) for index in range(len(operands)))
    if any(_is_shared(aliases, _OPERANDS[node.target](node.args), index) for index in written):
        return False
    # The first iteration writes to the initial values of the loop, and the test runs once more than the body.
    return node.target is not _LOOP or (min(written) >= _carried(node) and not _written(subgraphs[0]))


def _carried(loop: fx.Node) -> int:
    return len(cast("Sequence[Any]", loop.args[2]))


def _is_shared(aliases: Aliases, operands: Sequence[Any], index: int) -> bool:
    """Returns whether another operand may share the memory of the operand at `index`, or its memory is unknown."""
    own = operands[index]
    if not isinstance(own, fx.Node) or own not in aliases.variables:
        return True
    return not aliases.family(own).isdisjoint(nodes_in([item for place, item in enumerate(operands) if place != index]))


def _separate(node: fx.Node, written: Sequence[int], program: FlatProgram) -> None:
    """Copies operands of a call that share memory with another operand and are only read by its subgraphs."""
    aliases = _aliases(program)
    operands = _OPERANDS[node.target](node.args)
    copies: dict[int, fx.Node] = {}
    for index, operand in enumerate(operands):
        if index in written or not isinstance(operand, fx.Node) or not _is_shared(aliases, operands, index):
            continue
        with node.graph.inserting_before(node):
            copies[index] = node.graph.call_function(torch.ops.aten.clone.default, (operand,))
        copies[index].meta = {**operand.meta, "val": operand.meta["val"].clone()}
    if copies:
        _set_operands(node, [copies.get(index, operand) for index, operand in enumerate(operands)])


def _merge(node: fx.Node, subgraphs: Sequence[fx.GraphModule]) -> None:
    """Removes repeated operands of a call, and the placeholders for them in its subgraphs.

    Carried operands of a loop stay.
    """
    operands = _OPERANDS[node.target](node.args)
    first: dict[Any, int] = {}
    twice: dict[int, int] = {}
    for index, operand in enumerate(operands):
        if isinstance(operand, fx.Node) and (node.target is not _LOOP or index >= _carried(node)):
            same = first.setdefault(operand, index)
            twice |= {index: same} if same != index else {}
    for subgraph in subgraphs if twice else ():
        placeholders = _placeholders(subgraph)
        for index, same in twice.items():
            placeholders[index].replace_all_uses_with(placeholders[same])
            subgraph.graph.erase_node(placeholders[index])
        subgraph.recompile()
    if twice:
        _set_operands(node, [operand for index, operand in enumerate(operands) if index not in twice])


def _set_operands(node: fx.Node, operands: Sequence[Any]) -> None:
    """Sets the operands of a call; a loop keeps its number of carried operands."""
    if node.target is _LOOP:
        carried = _carried(node)
        node.args = (*node.args[:2], tuple(operands[:carried]), tuple(operands[carried:]))
    else:
        node.args = (*node.args[:3], tuple(operands))


def _write_after(node: fx.Node, subgraphs: Sequence[fx.GraphModule], written: Sequence[int]) -> None:
    """Makes the subgraphs of a call return the new values of written operands, and copies these values to the operands after the call."""
    operands = _OPERANDS[node.target](node.args)
    changed = [operands[index] for index in written]
    if node.target is _LOOP:
        test, body, carried, _ = cast("tuple[Any, ...]", node.args)
        for subgraph in subgraphs:
            _carry(subgraph, len(carried), written)
        _give(subgraphs[1], range(len(carried), len(carried) + len(written)))
        rest = tuple(item for index, item in enumerate(operands) if index >= len(carried) and index not in written)
        node.args, node.kwargs = (test, body, (*carried, *changed), rest), {}
    else:
        for subgraph in subgraphs:
            _give(subgraph, written)
    known = tuple(node.meta["val"])
    node.meta["val"] = (*known, *(item.meta["val"] for item in changed))
    last = node
    for place, target in enumerate(changed, len(known)):
        with node.graph.inserting_after(last):
            value = node.graph.call_function(operator.getitem, (node, place))
        with node.graph.inserting_after(value):
            last = node.graph.call_function(torch.ops.aten.copy_.default, (target, value))
        value.meta, last.meta = ({**node.meta, "val": target.meta["val"]} for _ in range(2))


def _placeholders(module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _carry(module: fx.GraphModule, carried: int, written: Sequence[int]) -> None:
    """Moves the placeholders of written operands behind the placeholders of carried operands, in a subgraph of a loop."""
    placeholders = _placeholders(module)
    last = placeholders[carried - 1]
    for index in written:
        last.append(placeholders[index])
        last = placeholders[index]


def _give(module: fx.GraphModule, written: Iterable[int]) -> None:
    """Makes a graph write to copies of placeholders, and return them after its other results."""
    graph, placeholders = module.graph, _placeholders(module)
    copies: list[fx.Node] = []
    for index in written:
        with graph.inserting_after(placeholders[-1]):
            new = graph.call_function(torch.ops.aten.clone.default, (placeholders[index],))
        new.meta = copy(placeholders[index].meta)
        placeholders[index].replace_all_uses_with(new, delete_user_cb=lambda user, new=new: user is not new)
        copies.append(new)
    end = graph.output_node()
    given = cast("Any", end.args[0])
    end.args = ((*(given if isinstance(given, tuple | list) else (given,)), *copies),)
    module.recompile()
