"""From `pdl.pattern` operations to patterns of our driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.text.module_text import parse_module, read_text, verify_parsed
from flambeau.passes.rewriting.pattern import Pattern, make_pattern
from flambeau.passes.rewriting.pdl.match_side import Matching
from flambeau.passes.rewriting.pdl.native_constraints import constraint_names, find_constraint
from flambeau.passes.rewriting.pdl.rewrite_side import compile_rewrite
from flambeau.passes.rewriting.pdl.state import PdlError, State, Test


def load_patterns(path: str | Path, context: Context) -> list[Pattern]:
    """Returns the patterns of a file.

    Raises:
        IRError: when the file does not parse or verify.
        ValueError: names the position in the file of what cannot be applied.
        OSError: when it cannot be read.
    """
    parsed = parse_module(read_text(path), context, str(path), locate=True)
    verify_parsed(parsed)
    try:
        patterns = patterns_in(parsed.module, context)
    except PdlError as error:
        raise ValueError(f"{parsed.position(error.op)}: {error}") from error
    if not patterns:
        raise ValueError(f"{path}: the file holds no pdl.pattern")
    return patterns


def patterns_in(module: Operation, context: Context) -> list[Pattern]:
    """Returns the patterns of a module, named by their symbols. Raises PdlError at the operation that cannot be applied."""
    return [compile_pattern(op, context, number) for number, op in enumerate(_pattern_ops(module))]


def _pattern_ops(module: Operation) -> Iterator[pdl.PatternOp]:
    for op in module.walk():
        if isinstance(op, pdl.PatternOp):
            yield op


def compile_pattern(pattern: pdl.PatternOp, context: Context, number: int = 0) -> Pattern:
    """Returns one pattern. Raises PdlError."""
    rewrite = pattern.body.block.last_op
    if not isinstance(rewrite, pdl.RewriteOp):
        raise PdlError(pattern, "a pattern ends with pdl.rewrite")
    root = rewrite.root if rewrite.root is not None else _find_root(pattern)
    root_op = root.owner
    if not isinstance(root_op, pdl.OperationOp):
        raise PdlError(rewrite, "the root of a pattern is a pdl.operation")
    matching = Matching(context)
    matches_root = matching.test(root)
    conditions = [_condition(op, matching.reached) for op in pattern.body.block.ops if isinstance(op, pdl.ApplyNativeConstraintOp)]
    for op in pattern.body.block.ops:
        if op not in matching.reached and not isinstance(op, pdl.ApplyNativeConstraintOp | pdl.RewriteOp):
            raise PdlError(op, f"{op.name} is not connected with the root through operands")
    steps = compile_rewrite(rewrite, context)
    name = pattern.sym_name.data if pattern.sym_name is not None else f"pdl_pattern_{number}"
    kind = None if root_op.opName is None else context.get_optional_op(root_op.opName.data)

    def apply(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
        state: State = {}
        if matches_root(op, state) and all(condition(None, state) for condition in conditions):
            for step in steps:
                step(state, rewriter)

    return make_pattern(name, [kind or Operation], apply, benefit=pattern.benefit.value.data, counter=f"{name} applied")


def _find_root(pattern: pdl.PatternOp) -> SSAValue:
    """Returns the operation that no other operation of the pattern reads."""
    operations = [op for op in pattern.body.block.ops if isinstance(op, pdl.OperationOp)]
    roots = [op for op in operations if not any(isinstance(use.operation, pdl.ResultOp | pdl.ResultsOp) for use in op.op.uses)]
    if len(roots) != 1:
        raise PdlError(pattern, f"say which of the {len(roots)} operations that nothing reads is the root: pdl.rewrite %root {{…}}")
    return roots[0].op


def _condition(op: pdl.ApplyNativeConstraintOp, reached: set[Operation]) -> Test:
    name, arguments = op.constraint_name.data, tuple(op.args)
    constraint = find_constraint(name)
    if constraint is None:
        raise PdlError(op, f"there is no native constraint {name!r}; there are {', '.join(constraint_names())}")
    if op.res:
        raise PdlError(op, "native constraints give no values here")
    if any(value.owner not in reached for value in arguments):
        raise PdlError(op, f"the constraint {name!r} asks about what the root does not lead to")
    negated = bool(op.is_negated.value.data)

    def test(candidate: object, state: State) -> bool:
        return constraint(*_arguments(arguments, state)) is not negated

    return test


def _arguments(values: Sequence[SSAValue], state: State) -> list[object]:
    return [state[value] for value in values]
