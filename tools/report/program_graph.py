"""The text of a module and the graph of one of its methods, whose nodes know their lines in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import AliasOp
from flambeau.dialects.ir.locations import describe_location, file_positions, module_paths
from flambeau.dialects.text.operation_text import OptionsPrinter, PrintingOptions
from flambeau.tools.instruments.ir_printing import ELIDED_ABOVE


@dataclass(frozen=True)
class Node:
    """An operation or an input of a method.

    Attributes:
        operator: the operator, or `input`, or `delegate` and the backend.
        names: the names of the values that it computes in the text, without `%`.
        hints: those names without the numbers of equal names, which differ between stages.
        modules: the paths of the modules of the model that it comes from.
        places: the same modules with the lines of the model's source, as text.
        line: the first of these lines, as file and number.
        first, last: its lines in the text of the module, from 0; None for an input.
        inputs: the node and the number of the output of each value that it reads.
        weights: the names of the constants that it reads.
        types: the types of the values that it computes.
    """

    operator: str
    names: tuple[str, ...]
    hints: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    line: tuple[str, int] | None = None
    first: int | None = None
    last: int | None = None
    inputs: tuple[tuple[int, int], ...] = ()
    weights: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramGraph:
    """The text of a module, and the nodes of a method in the order of the text.

    Attributes:
        text: the module, where large constants are left out.
        nodes: the nodes of the method; a node's number is its position in this list.
        operations: the number of the node of each operation that has a node.
        names: the names of values in the text.
    """

    text: str
    nodes: tuple[Node, ...]
    operations: dict[Operation, int]
    names: dict[SSAValue, str]


def program_graph(module: ModuleOp, method: str) -> ProgramGraph:
    """Returns the graph of a method at any stage. The graph has no nodes if the module has no such method."""
    text, lines, names = _text(module)
    builder = _Builder(
        lines, names, {op.sym_name.data: op.backend.data for op in module.body.block.ops if isinstance(op, PartitionOp | PayloadOp)}
    )
    for op in module.body.block.ops:
        if isinstance(op, MethodOp) and op.sym_name.data == method:
            builder.add_method(op)
        elif isinstance(op, FuncOp) and op.sym_name.data == method and op.body.blocks:
            builder.add_function(op)
    return ProgramGraph(text, tuple(builder.nodes), builder.operations, names)


class _LinePrinter(OptionsPrinter):
    """A printer that records the first and last line of each operation."""

    spans: dict[Operation, tuple[int, int]]

    @property
    def names(self) -> dict[SSAValue, str]:
        return self._ssa_values

    def print_op(self, op: Operation) -> None:
        start = self._tell()
        super().print_op(op)
        self.spans[op] = (start, self._tell())

    def _tell(self) -> int:
        assert isinstance(self.stream, StringIO)
        return self.stream.tell()


def _text(module: ModuleOp) -> tuple[str, dict[Operation, tuple[int, int]], dict[SSAValue, str]]:
    """Returns the text of a module, the first and last line of each operation, and the names of values."""
    stream = StringIO()
    printer = _LinePrinter.make(stream, PrintingOptions(elide_above=ELIDED_ABOVE, elide_resources_above=0, unique_names=True))
    printer.spans = {}
    printer.print_op(module)
    text = stream.getvalue()
    line, at = 0, 0
    numbers: dict[int, int] = {}
    for offset in sorted({offset for span in printer.spans.values() for offset in span}):
        line += text.count("\n", at, offset)
        numbers[offset], at = line, offset
    return text, {op: (numbers[start], numbers[end]) for op, (start, end) in printer.spans.items()}, printer.names


class _Builder:
    def __init__(self, lines: dict[Operation, tuple[int, int]], names: dict[SSAValue, str], backends: dict[str, str]):
        self.nodes: list[Node] = []
        self.operations: dict[Operation, int] = {}
        self._lines = lines
        self._names = names
        self._backends = backends
        self._made: dict[SSAValue, tuple[int, int]] = {}
        """The node and the output that made each value, or that wrote a slot last."""

    def add_function(self, function: FuncOp) -> None:
        for argument in function.body.block.args:
            self._add_input(argument)
        self._add_block(function.body.block)

    def _add_block(self, block: Block) -> None:
        for op in block.ops:
            if _is_constant(op) or op.has_trait(IsTerminator):
                continue
            number = self._add(op, op.name if not isinstance(op, DelegateCallOp) else self._delegate(op), op.operands, op.results)
            for region in op.regions:
                for inner in region.blocks:
                    self._made.update((argument, (number, 0)) for argument in inner.args)
                    self._add_block(inner)

    def add_method(self, method: MethodOp) -> None:
        for slot in method.terminator.inputs:
            self._add_input(slot)
        for op in method.steps:
            reads, writes = reads_and_writes(op)
            operator = op.operator.data if isinstance(op, CallOp) else self._delegate(op) if isinstance(op, DelegateCallOp) else op.name
            self._add(op, operator, reads, writes)

    def _add_input(self, value: SSAValue) -> None:
        name = self._names.get(value, "")
        self._made[_root(value)] = (len(self.nodes), 0)
        self.nodes.append(Node("input", (name,), (value.name_hint or "",), types=(str(value.type),)))

    def _delegate(self, op: DelegateCallOp) -> str:
        return f"delegate {self._backends.get(op.delegate.string_value(), '')}"

    def _add(self, op: Operation, operator: str, reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> int:
        number = len(self.nodes)
        made = [(value, self._made.get(_root(value))) for value in reads]
        position = next(file_positions(op.location), None)
        first, last = self._lines.get(op, (None, None))
        self.nodes.append(
            Node(
                operator,
                tuple(self._names[value] for value in writes if value in self._names),
                tuple(hint for value in writes if (hint := value.name_hint) is not None),
                tuple(dict.fromkeys(module_paths(op.location))),
                tuple(_places(op)),
                None if position is None else (position.filename.data, position.line.data),
                first,
                last,
                tuple(dict.fromkeys(source for _, source in made if source is not None)),
                tuple(_weight(value) for value, source in made if source is None),
                tuple(str(value.type) for value in writes),
            )
        )
        self.operations[op] = number
        self._made.update((_root(value), (number, output)) for output, value in enumerate(writes))
        return number


def _is_constant(op: Operation) -> bool:
    return not op.operands and not op.regions and len(op.results) == 1


def _root(value: SSAValue) -> SSAValue:
    """Returns the slot whose memory a view or a reuse is; any other value unchanged."""
    while isinstance(value.owner, AliasOp):
        value = value.owner.source
    return value


def _weight(value: SSAValue) -> str:
    """Returns the global that a constant comes from, or the name of the value."""
    owner = _root(value).owner
    symbol = owner.properties.get("global") or owner.properties.get("global_name") if isinstance(owner, Operation) else None
    return symbol.string_value() if isinstance(symbol, SymbolRefAttr) else value.name_hint or ""


def _places(op: Operation) -> Iterator[str]:
    """Yields the parts of a location, as `describe_location` joins them."""
    text = describe_location(op.location)
    yield from dict.fromkeys(text.split(", ") if text else ())
