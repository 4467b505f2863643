"""Dialect conversion: rewrites until every operation is legal, or reports all illegal operations with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation

from flambeau.passes.rewriting.actions import was_restricted
from flambeau.passes.rewriting.conversion_report import Attempt, ConversionError, IllegalOperation, LegalizationReport
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.type_conversion import settle_casts


def apply_partial_conversion(root: Operation, target: ConversionTarget, patterns: Sequence[Pattern], *, atomic: bool = False) -> None:
    """Rewrites what is illegal inside `root` until none of it is left; what has no rule may stay.

    Patterns are tried on illegal operations only, those that rewrites insert among them. The legality of the result is not asked for
    when some rewrite was forbidden, as bisection does.

    Args:
        root: rewritten in place.
        target: what is legal.
        patterns: tried by descending benefit; may `decline` with reasons.
        atomic: after a failure, put everything back as it was. Without, what was converted stays so, to be looked at.

    Raises:
        ConversionError: names every illegal operation with its place in the user's model, why it is illegal, and which patterns declined.

    Example:
        copy = module.clone()
        target = ConversionTarget("the device").illegal("aten.mul.Scalar", because="it has no multiplier")
        apply_partial_conversion(copy, target, [divide_instead])
        assert "aten.div.Scalar(%y) {other = 2.0}" in print_module(copy)
    """
    with _restoring(root) if atomic else _leaving():
        _convert(root, target, patterns, lambda op: target.why_illegal(op))


def apply_full_conversion(root: Operation, target: ConversionTarget, patterns: Sequence[Pattern], *, atomic: bool = False) -> None:
    """As `apply_partial_conversion`, and what has no rule is illegal."""

    def why_illegal(op: Operation) -> str | None:
        return target.why_illegal(op) if target.is_known(op) else f"nothing says that it is legal in {target.name}"

    with _restoring(root) if atomic else _leaving():
        _convert(root, target, patterns, why_illegal)


def _convert(
    root: Operation, target: ConversionTarget, patterns: Sequence[Pattern], why_illegal: Callable[[Operation], str | None]
) -> None:
    driver = PatternDriver(patterns, only=lambda op: target.why_illegal(op) is not None and not target.is_closed_off(op), explain=True)
    driver.run(root)
    settle_casts(root, patterns)
    if was_restricted():
        return
    illegal: list[IllegalOperation] = []
    for op in root.walk():
        reason = None if op is root or target.is_closed_off(op) else why_illegal(op)
        if reason is not None:
            declined = driver.declined.get(op, {})
            tried = tuple(Attempt(name := type(item).__name__, declined.get(name)) for item in driver.patterns_for(type(op)))
            illegal.append(IllegalOperation(op, reason, tried))
    if illegal:
        raise ConversionError(LegalizationReport.of(target.name, illegal))


@contextmanager
def _leaving() -> Generator[None, None, None]:
    yield


@contextmanager
def _restoring(root: Operation) -> Generator[None, None, None]:
    """Puts a copy of `root` in its place if the block fails; `root` itself stays the same object."""
    copy = root.clone()
    for old, new in zip(root.walk(), copy.walk(), strict=True):
        new.location = old.location
    try:
        yield
    except Exception:
        for region, kept in zip(root.regions, copy.regions, strict=True):
            for block in reversed(region.blocks):
                region.erase_block(block, safe_erase=False)
            kept.move_blocks(region)
        root.attributes = copy.attributes
        root.properties = copy.properties
        raise
