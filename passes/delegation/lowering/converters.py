"""Conversion of operators to a backend's dialect: one function per operator, and one per operator between integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable, operator_name
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.analysis.quantized_types import IntegerOperator, integer_operator
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.dialect_conversion import apply_full_conversion
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern, make_pattern, replace_with_values
from flambeau.passes.rewriting.pattern_functions import rewrites

Converter: TypeAlias = "Callable[[SchemaOp, ModuleConstants], SSAValue | list[SSAValue] | None]"
"""Gives the result, or the list of results, of an operator. Where it gives the first result only, nothing reads the others; where it gives
none, nothing reads the operator when its readers are converted."""


IntegerConverter: TypeAlias = "Callable[[IntegerOperator, ModuleConstants], SSAValue]"
"""Gives the integers of the result of an operator between integers, within its limits. Raises RefusedError, before it builds anything."""


class Converters(Mapping[str, Converter]):
    """The converters of a backend by the names of the operators of the edge level. Called with names, it declares the function below."""

    def __init__(self, dialect: str):
        self._dialect = dialect
        self._converters: dict[str, Converter] = {}
        self._integers: dict[str, IntegerConverter] = {}

    def __getitem__(self, name: str) -> Converter:
        return self._converters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._converters)

    def __len__(self) -> int:
        return len(self._converters)

    def __call__(self, *names: str) -> Callable[[Converter], Converter]:
        """Registers the conversion of operators."""

        def declare(converter: Converter) -> Converter:
            self._converters.update(dict.fromkeys(names, converter))
            return converter

        return declare

    def update(self, converters: Mapping[str, Converter]) -> None:
        """Registers conversions by the names of the operators."""
        self._converters.update(converters)

    def of_operands(self, kinds: Mapping[str, type[SchemaOp]]) -> None:
        """Registers the operators of the dialect that compute, of the same operands, what operators without other arguments do."""
        self.update({name: lambda op, constants, kind=kind: kind(*op.operands).result for name, kind in kinds.items()})

    def arithmetic(self, kinds: Mapping[str, type[SchemaOp]], number: Callable[[SchemaOp, ModuleConstants], SSAValue]) -> None:
        """Registers operators of two tensors, also for a tensor and a number, which `number` gives as a constant."""
        self.of_operands({f"{name}.Tensor": kind for name, kind in kinds.items()})
        for name, kind in kinds.items():
            self(f"{name}.Scalar")(lambda op, constants, kind=kind: kind(op.operands[0], number(op, constants)).result)

    def integers(self, *names: str) -> Callable[[IntegerConverter], IntegerConverter]:
        """Registers the conversion of operators between integers; of `quantize_per_tensor` where only the quantized type changes."""

        def declare(converter: IntegerConverter) -> IntegerConverter:
            self._integers.update(dict.fromkeys(names, converter))
            return converter

        return declare

    def apply(self, partition: PartitionOp, constants: ModuleConstants, table: OperatorTable | None = None) -> None:
        """Rewrites a partition in the backend's dialect. Raises ConversionError that lists what has no form there.

        `table` says which operators between integers are not taken as such, and stay in floats; without one, none. With one, an operator
        that a converter refuses stays in floats too, if the table takes it there.
        """
        if self._integers:
            apply_patterns(partition, [self._between_integers(constants, table)])
        target = ConversionTarget(f"the {self._dialect} dialect").legal(self._dialect, "ml_program", ReturnOp)
        target.illegal("edge", "quantized_decomposed", because="the backend computes operators of its own")
        apply_full_conversion(partition, target, [_pattern(name, converter, constants) for name, converter in self.items()])

    def _between_integers(self, constants: ModuleConstants, table: OperatorTable | None) -> Pattern:
        @rewrites(QuantizePerTensorOp, counter="operators between integers converted")
        def convert(op: QuantizePerTensorOp) -> SSAValue | None:
            found = quantized_operator(op)
            if found is not None and table is not None and table.why_not_integers(found) is not None:
                return None
            converter = None if found is None else self._integers.get(operator_name(type(found.operator or op)))
            if found is None or converter is None:
                return None
            try:
                return converter(integer_operator(found, constants), constants)
            except RefusedError:
                if table is None or any(table.why_not_in_floats(part) is not None for part in found.parts):
                    raise
                return None

        return convert


def _pattern(name: str, converter: Converter, constants: ModuleConstants) -> Pattern:
    kind = find_op(f"edge.{name}") or find_op(name)
    assert kind is not None, f"there is no operator {name} at the edge level"

    def rewrite(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, SchemaOp) and op.name == kind.name:
            found = converter(op, constants)
            if found is not None:
                replace_with_values(op, found if isinstance(found, list) else [found, *op.results[1:]], rewriter)

    return make_pattern(f"Convert{kind.__name__}", [kind], rewrite, doc=kind.name)
