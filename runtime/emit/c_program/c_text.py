"""Prints the `emitc` dialect as C."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
)
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.emitc import (
    EmitC_ArrayType,
    EmitC_CallOpaqueOp,
    EmitC_OpaqueAttr,
    EmitC_OpaqueType,
    EmitC_PointerType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from flambeau.dialects.emitc import ConstantOp, ForOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp, YieldOp
from flambeau.dialects.ir.diagnostics import OperationError

_WIDTH = 140


def print_c(module: ModuleOp) -> str:
    """Returns the text of the C file that a module of `emitc` operations is.

    Raises OperationError for an operation or a type that has no text.
    """
    return "\n".join(line for op in module.body.block.ops for line in _top_level(op)) + "\n"


def _top_level(op: Operation) -> Iterator[str]:
    match op:
        case IncludeOp():
            name = op.include.data
            yield f"#include <{name}>" if op.is_standard_include is not None else f'#include "{name}"'
        case VerbatimOp():
            yield op.value.data
        case GlobalOp():
            yield from _global(op)
        case FuncOp():
            yield from _Function(op).lines()
        case _:
            raise OperationError(op, f"{op.name} has no place in a C file")


def _global(op: GlobalOp) -> Iterator[str]:
    declared = " ".join([*op.specifiers, _declarator(op, op.type, op.sym_name.data)])
    value = "" if op.initial_value is None else f" = {_literal(op, op.initial_value)}"
    yield from _wrapped(f"{declared}{value};")


def _wrapped(line: str) -> list[str]:
    """Returns the lines of a statement; one with a text, which must not be broken, stays."""
    if len(line) <= _WIDTH or '"' in line:
        return [line]
    return textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _declarator(op: Operation, type: Attribute, name: str) -> str:
    """Returns the declaration of a variable without its value."""
    if isinstance(type, EmitC_ArrayType):
        array = cast("EmitC_ArrayType", type)
        return f"{_type(op, array.element_type)} {name}{''.join(f'[{length}]' for length in array.get_shape())}"
    written = _type(op, type)
    return f"{written}{name}" if written.endswith("*") else f"{written} {name}"


def _type(op: Operation, type: Attribute) -> str:
    match type:
        case EmitC_OpaqueType():
            return type.value.data
        case EmitC_PointerType():
            inner = _type(op, type.pointee_type)
            return f"{inner}*" if inner.endswith("*") else f"{inner} *"
        case IndexType():
            return "size_t"
        case IntegerType() if type.width.data == 1:
            return "bool"
        case IntegerType():
            sign = "u" if type.signedness.data is Signedness.UNSIGNED else ""
            return f"{sign}int{type.width.data}_t"
        case _:
            raise OperationError(op, f"C has no type {type}")


def _literal(op: Operation, value: Attribute) -> str:
    match value:
        case EmitC_OpaqueAttr():
            return value.value.data
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return "true" if value.value.data else "false"
        case IntegerAttr():
            return str(value.value.data)
        case _:
            raise OperationError(op, f"C has no literal for {value}")


class _Function:
    """The text of a function. A value that the next operation alone uses stands where it is used."""

    def __init__(self, op: FuncOp):
        self._op = op
        self._names: dict[SSAValue, str] = {}
        self._taken: set[str] = set()
        blocks = list(op.body.blocks)
        followers = dict(pairwise(blocks))
        targets: set[Block] = set()
        for block in blocks:
            match block.last_op:
                case BranchOp(successor=target) if target is not followers.get(block):
                    targets.add(target)
                case ConditionalBranchOp(then_block=taken, else_block=other):
                    targets.update({taken, other} - {followers.get(block)} or {taken})
                case _:
                    pass
        self._labels = self._named([block for block in blocks if block in targets])
        self._followers = followers

    @staticmethod
    def _named(blocks: Sequence[Block]) -> dict[Block, str]:
        """Returns a label for each block: its name, with a number where another has it."""
        names: dict[Block, str] = {}
        for block in blocks:
            wanted = block.name_hint or "label"
            name, number = wanted, 0
            while name in names.values():
                name, number = f"{wanted}_{number}", number + 1
            names[block] = name
        return names

    def lines(self) -> Iterator[str]:
        """Yields the lines of the declaration or definition."""
        type: FunctionType = self._op.function_type
        body = self._op.body
        for index, argument in enumerate(body.blocks[0].args if body.blocks else ()):
            self._names[argument] = self._unused(argument.name_hint or f"arg_{index}")
        names = list(self._names.values()) or [""] * len(type.inputs)
        inputs = [_declarator(self._op, item, name).rstrip() for item, name in zip(type.inputs, names, strict=True)]
        result = _type(self._op, type.outputs.data[0]) if type.outputs.data else "void"
        specifiers = "" if self._op.specifiers is None else "".join(f"{item.data} " for item in self._op.specifiers)
        head = f"{specifiers}{result} {self._op.sym_name.data}({', '.join(inputs) or 'void'})"
        if not body.blocks:
            yield f"{head};"
            return
        yield ""
        yield f"{head} {{"
        for block in body.blocks:
            if block in self._labels:
                yield f"{self._labels[block]}:;"  # a label stands before a statement, which a declaration is not
            yield from self._statements(block, "  ")
        yield "}"

    def _unused(self, wanted: str) -> str:
        """Returns a name for a variable: the one that is wanted, with a number where another has it."""
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def _statements(self, block: Block, indent: str) -> Iterator[str]:
        for op in block.ops:
            if isinstance(op, ForOp):
                lower, upper, step = map(self._value, (op.lower_bound, op.upper_bound, op.step))
                variable = op.body.block.args[0]
                self._names[variable] = name = self._unused(variable.name_hint or "i")
                yield f"{indent}for (size_t {name} = {lower}; {name} < {upper}; {name} += {step}) {{"
                yield from self._statements(op.body.block, f"{indent}  ")
                yield f"{indent}}}"
                continue
            yield from (f"{indent}{line}" for text in self._statement(op, block) for line in _wrapped(text))

    def _statement(self, op: Operation, block: Block) -> Iterator[str]:
        match op:
            case VerbatimOp():
                yield op.value.data
            case GetGlobalOp():
                self._names[op.result] = op.global_name.root_reference.data
            case ConstantOp():
                yield from self._define(op, _literal(op, op.value))
            case EmitC_CallOpaqueOp():
                yield from self._define(op, f"{op.callee.data}({', '.join(self._arguments(op))})")
            case BranchOp():
                yield from self._go(op, op.successor, op.arguments, block)
            case ConditionalBranchOp():
                taken, other = (op.then_block, op.then_arguments), (op.else_block, op.else_arguments)
                negated = self._followers.get(block) is op.then_block
                yield f"if ({'!' if negated else ''}{self._value(op.cond)}) {{"
                yield from (f"  {line}" for line in self._go(op, *(other if negated else taken), None))
                yield "}"
                yield from self._go(op, *(taken if negated else other), block)
            case YieldOp():
                pass
            case ReturnOp():
                yield f"return{''.join(f' {self._value(value)}' for value in op.operands_)};"
            case _:
                raise OperationError(op, f"{op.name} has no text in C")

    def _arguments(self, op: EmitC_CallOpaqueOp) -> list[str]:
        if op.args is None:
            return list(map(self._value, op.call_args))
        return [self._argument(op, item) for item in op.args]

    def _argument(self, op: EmitC_CallOpaqueOp, item: Attribute) -> str:
        """Returns an argument: an operand by its position, which has the type index, or a literal."""
        match item:
            case IntegerAttr(type=IndexType()):
                return self._value(op.call_args[item.value.data])
            case _:
                return _literal(op, item)

    def _go(self, op: Operation, target: Block, arguments: Sequence[SSAValue], block: Block | None) -> Iterator[str]:
        """Yields the jump to a block, unless it follows."""
        if arguments:
            raise OperationError(op, "a block of C has no arguments")
        if block is None or self._followers.get(block) is not target:
            yield f"goto {self._labels[target]};"

    def _define(self, op: Operation, expression: str) -> Iterator[str]:
        if not op.results:
            yield f"{expression};"
            return
        result = op.results[0]
        if result.has_one_use() and next(iter(result.uses)).operation is op.next_op:
            self._names[result] = expression
            return
        self._names[result] = name = self._unused(result.name_hint or f"v{len(self._names)}")
        yield f"{_declarator(op, result.type, name)} = {expression};"

    def _value(self, value: SSAValue) -> str:
        return self._names[value]
