"""Changes of function signatures, and of everything that repeats them: types, attributes of arguments, lists of leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, ParametrizedAttribute, SSAValue

from flambeau.dialects.flambeau.method_interface import IN_SPEC, INPUTS, OUT_SPEC, OUTPUTS, Leaf, inputs_of, leaves_attribute, outputs_of


def symbol_references(attribute: Attribute) -> set[str]:
    """Returns the names of symbols of the module that an attribute refers to."""
    match attribute:
        case SymbolRefAttr():
            return {attribute.root_reference.data}
        case ArrayAttr():
            parts: Sequence[Attribute] = attribute.data
        case DictionaryAttr():
            parts = tuple(attribute.data.values())
        case ParametrizedAttribute():
            parts = attribute.parameters
        case _:
            parts = ()
    return {name for part in parts for name in symbol_references(part)}


def references_in(op: Operation) -> set[str]:
    """Returns the names of symbols that an operation itself refers to."""
    return {name for items in (op.properties, op.attributes) for value in items.values() for name in symbol_references(value)}


def free_functions(module: ModuleOp) -> list[FuncOp]:
    """Returns the functions with a body and no references, so that their signature may change."""
    named = {name for op in module.walk() for name in references_in(op)}
    return [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks and op.sym_name.data not in named]


def returns_of(function: FuncOp) -> list[ReturnOp]:
    """Returns the terminators that return from the function."""
    return [block.last_op for block in function.body.blocks if isinstance(block.last_op, ReturnOp)]


@dataclass
class Signature:
    """The signature of a function while it changes; `write` applies it to the function."""

    function: FuncOp
    inputs: list[Leaf]
    outputs: list[Leaf]
    returned: list[list[SSAValue]]
    """The values of each return, one for each tensor among the outputs."""

    @staticmethod
    def of(function: FuncOp) -> Signature:
        """Returns the current signature of a function."""
        returned = [list(op.operands) for op in returns_of(function)]
        return Signature(function, list(inputs_of(function)), list(outputs_of(function)), returned)

    def add_argument(self, kind: Attribute, name: str | None) -> BlockArgument:
        """Adds a last argument."""
        function = self.function
        block = function.body.blocks[0]
        argument = block.insert_arg(kind, len(block.args))
        argument.name_hint = name
        self.inputs.append(Leaf(_unused_name(name or "input", self.inputs)))
        if function.arg_attrs is not None:
            function.arg_attrs = ArrayAttr([*function.arg_attrs.data, DictionaryAttr({})])
        return argument

    def drop_arguments(self, indices: Collection[int]) -> None:
        """Erases arguments, which must be unused."""
        function = self.function
        block = function.body.blocks[0]
        for index in sorted(indices, reverse=True):
            block.erase_arg(block.args[index])
        self.inputs = _without_tensors(self.inputs, indices)
        function.arg_attrs = _without(function.arg_attrs, indices)

    def add_output(self, value: SSAValue) -> None:
        """Adds a last result, to a function with one return."""
        for values in self.returned:
            values.append(value)
        self.outputs.append(Leaf(_unused_name(value.name_hint or "output", self.outputs)))
        if self.function.res_attrs is not None:
            self.function.res_attrs = ArrayAttr([*self.function.res_attrs.data, DictionaryAttr({})])

    def drop_outputs(self, indices: Collection[int]) -> None:
        """Removes results."""
        self.returned = [[value for index, value in enumerate(values) if index not in indices] for values in self.returned]
        self.outputs = _without_tensors(self.outputs, indices)
        self.function.res_attrs = _without(self.function.res_attrs, indices)

    def write(self) -> None:
        """Makes the returns, the function's type and its lists of leaves agree with the signature."""
        function = self.function
        for op, values in zip(returns_of(function), self.returned, strict=True):
            op.operands = values
        update_type(function)
        for key, spec, leaves, known in ((INPUTS, IN_SPEC, self.inputs, inputs_of), (OUTPUTS, OUT_SPEC, self.outputs, outputs_of)):
            if key in function.attributes and not _agrees(function, known, leaves):
                function.attributes[key] = leaves_attribute(leaves)
                function.attributes.pop(spec, None)  # the tree had other leaves


def update_type(function: FuncOp) -> None:
    """Updates a function's type to its arguments and returned values."""
    returns = returns_of(function)
    outputs = returns[0].operand_types if returns else function.function_type.outputs.data
    function.function_type = FunctionType.from_lists(function.body.blocks[0].arg_types, list(outputs))


def _agrees(function: FuncOp, known: Callable[[FuncOp], Sequence[Leaf]], leaves: Sequence[Leaf]) -> bool:
    try:
        return list(known(function)) == list(leaves)
    except ValueError:  # the attribute still lists the old values
        return False


def _unused_name(name: str, leaves: Sequence[Leaf]) -> str:
    used = {leaf.name for leaf in leaves}
    unique, attempt = name, 0
    while unique in used:
        attempt += 1
        unique = f"{name}_{attempt}"
    return unique


def _without_tensors(leaves: Sequence[Leaf], indices: Collection[int]) -> list[Leaf]:
    kept: list[Leaf] = []
    tensors = 0
    for leaf in leaves:
        if not leaf.is_tensor or tensors not in indices:
            kept.append(leaf)
        tensors += leaf.is_tensor
    return kept


def _without(attributes: ArrayAttr[DictionaryAttr] | None, indices: Collection[int]) -> ArrayAttr[DictionaryAttr] | None:
    if attributes is None:
        return None
    return ArrayAttr([item for index, item in enumerate(attributes.data) if index not in indices])
