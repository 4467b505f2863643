"""PyTorch's own samples of its operators (`op_db`), exported, compiled to a `.pte`, run by the C runtime, and compared with eager.

    PYTHONPATH=test python test/campaigns/op_db.py [operator …] [--samples 4] [--dtypes float32 int64 bool] [--targets …] [--jobs 2]

prints what was exported, taken, refused and wrong, and the reasons of refusals by how many samples they concern. A program that one target
refuses is compiled for the next. It returns 1 if a result is wrong. Work that ends its process or takes too long is told,
and the other operators are judged.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import signal
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, cast

import numpy as np
import torch
from campaigns.job_options import add_job_options, chosen_executor
from helpers.vector_choices import aligned
from torch.utils import _pytree as pytree

from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import in_order

Verdict = Literal["taken", "refused", "wrong", "not exported"]
DTYPES = ("float32", "int64", "bool")
TOLERANCE = 2e-4
"""Relative and absolute: some of the samples multiply hundreds of numbers."""
_TIES = ("sort", "kthvalue", "median", "mode", "nanmedian")
"""Operators whose second result tells equal elements apart as PyTorch's algorithm happens to."""
_ANYTHING = ("argsort", *(f"{new}empty{like}" for new in ("", "new_") for like in ("", "_like", "_strided", "_permuted")))
"""Operators that may give anything: memory as it is, and the places of equal elements."""
_UNORDERED = {"linalg.eig": "linalg_eig", "linalg.eigvals": "linalg_eigvals"}
"""Operators whose results come in the order that PyTorch's algorithm finds them in, with the names that `vector_choices` has for them."""
_NUMBERS = re.compile(r"%[\w.]+|-?\d[\d.e+-]*|\[[^]]*\]|tensor<[^>]*>|'[^']*'")


class Outcome(NamedTuple):
    """What became of one sample."""

    operator: str
    dtype: str
    sample: int
    verdict: Verdict
    reason: str


class _Sample(torch.nn.Module):
    """An operator with the arguments of a sample that are not tensors."""

    def __init__(self, operator: Any, leaves: list[Any], spec: Any):
        super().__init__()
        self.operator, self.leaves, self.nesting = operator, leaves, spec

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The operator's results."""
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.nesting)
        return self.operator(*args, **kwargs)


class TooLongError(Exception):
    """Work that takes longer than a sample may take."""


def _interrupt(signum: int, frame: object) -> None:
    raise TooLongError("it takes too long")


def _evenly(items: Sequence[Any], count: int) -> list[tuple[int, Any]]:
    """`count` of the items with their places, from the first to the last."""
    places = range(len(items)) if len(items) <= count else sorted({round(i * (len(items) - 1) / max(count - 1, 1)) for i in range(count)})
    return [(place, items[place]) for place in places]


def outcomes(info: Any, dtype: str, samples: int, seconds: int, targets: Sequence[str]) -> Iterator[Outcome]:
    """What becomes of some samples of an operator in a dtype."""
    name = info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")
    try:
        found = list(info.sample_inputs("cpu", getattr(torch, dtype)))
    except Exception:
        return  # PyTorch says that it takes the dtype, and its own samples fail
    for place, sample in _evenly(found, samples):
        signal.alarm(seconds)
        try:
            verdict, reason = judge(info.name, info.op, sample, targets)
        except TooLongError as error:
            verdict, reason = "refused", str(error)
        finally:
            signal.alarm(0)
        yield Outcome(name, dtype, place, verdict, reason)


def judge(name: str, operator: Any, sample: Any, targets: Sequence[str]) -> tuple[Verdict, str]:
    """The verdict on one sample: with the target, if it is taken by another than the first, or with the reason of what the first says."""
    from flambeau.frontends.torch_export import capture

    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]
    module = _Sample(operator, leaves, spec).eval()
    try:
        program = capture(module, tuple(tensors))
        with torch.no_grad():
            wanted, kinds = pytree.tree_flatten(module(*(tensor.clone() for tensor in tensors)))
    except TooLongError:
        raise
    except Exception as error:
        return "not exported", str(error)

    def exact() -> list[Any]:
        with torch.no_grad():
            return pytree.tree_leaves(module(*(tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors)))

    def settled(results: list[Any]) -> list[Any]:
        """What PyTorch says is one and the same whichever vectors an algorithm chooses."""
        return pytree.tree_leaves(sample.output_process_fn_grad(pytree.tree_unflatten(results, kinds)))

    verdict, reason = _judge_program(name, program, tensors, wanted, settled, exact, targets[0])
    for target in targets[1:] if verdict == "refused" else ():
        other, details = _judge_program(name, program, tensors, wanted, settled, exact, target)
        if other != "refused":
            return other, details or f"on {target}"
    return verdict, reason


def _judge_program(
    name: str,
    program: Any,
    tensors: Sequence[torch.Tensor],
    wanted: list[Any],
    settled: Callable[[list[Any]], list[Any]],
    exact: Callable[[], list[Any]],
    target: str,
) -> tuple[Verdict, str]:
    """The verdict on an exported program for one target.

    `settled` gives of results what no algorithm may choose, and `exact` computes what is wanted in double precision.
    """
    from flambeau.compiler.compilation import Compilation
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.dialects.schema.row import SchemaOp
    from flambeau.frontends.torch_export import import_program
    from flambeau.passes.manager.pipeline_options import PipelineOptions
    from flambeau.runtime import FlambeauError, Runtime

    try:
        context = FlambeauContext()
        imported = import_program(program, context)
        draws = any(isinstance(op, SchemaOp) and op.draws() for op in imported.walk())
        compilation = Compilation(imported, context, PipelineOptions(target=target))
        data = compilation.emit()
    except (TooLongError, KeyboardInterrupt):
        raise
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    try:
        method = Runtime.get().load_program(data).load_method("forward")
        outputs = pytree.tree_leaves(method(*tensors))
    except FlambeauError as error:
        return ("refused" if "no kernel" in str(error) else "wrong"), f"it fails when it runs: {error}"
    if name in _ANYTHING:
        return "taken", ""
    if name in _TIES:
        outputs, wanted = outputs[:1], wanted[:1]
    comparable = list[Any] if name in _TIES or draws else settled
    try:
        found = [_as_eager(result, expected) for result, expected in zip(outputs, wanted, strict=True)]
        if name in _UNORDERED:
            arrays = [[tensor.numpy() for tensor in tensors] for tensors in (found, wanted)]
            found = [torch.as_tensor(result) for result in aligned(_UNORDERED[name], *arrays)]
        found, wanted = comparable(found), comparable(wanted)
    except (AssertionError, ValueError, TypeError) as error:
        return "wrong", str(error)
    try:
        for result, expected in zip(found, wanted, strict=True):
            _compare(result, expected, draws)
    except (AssertionError, ValueError, TypeError) as error:
        nearer = not draws and all(map(_is_nearer, found, wanted, comparable(exact())))
        return ("taken", "") if nearer else ("wrong", str(error))
    return "taken", ""


def _is_nearer(result: Any, expected: Any, exact: Any) -> bool:
    """Whether a result is that of eager, or no further from the exact one than eager's is."""
    try:
        _compare(result, expected, draws=False)
        return True
    except (AssertionError, ValueError, TypeError):
        if not isinstance(exact, torch.Tensor) or not isinstance(expected, torch.Tensor) or not exact.is_floating_point():
            return False
        errors = [(torch.as_tensor(each).double() - exact).abs().max() for each in (result, expected)]
        return bool(torch.as_tensor(result).shape == exact.shape and errors[0] <= errors[1])


def _as_eager(result: Any, expected: Any) -> Any:
    """A result of the runtime as the kind of value that eager gives."""
    if not isinstance(expected, torch.Tensor):
        return result
    found = (
        cast(Any, torch).from_numpy(result.view(np.int16)).view(torch.bfloat16)
        if result.dtype.name == "bfloat16"
        else torch.as_tensor(result)
    )
    kinds = (found.shape, found.dtype), (expected.shape, expected.dtype)
    assert kinds[0] == kinds[1], f"{found.dtype} {found.shape}, eager gives {expected.dtype} {expected.shape}"
    return found


def _compare(result: Any, expected: Any, draws: bool) -> None:
    """A result with what eager gives; not if the program draws random numbers, which are other ones."""
    if not isinstance(expected, torch.Tensor):
        assert result == expected, f"{result!r}, eager gives {expected!r}"
    elif not draws:
        torch.testing.assert_close(result, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def _infos(names: Sequence[str]) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return [info for info in cast("list[Any]", op_db) if not names or info.name in names]


def work(options: argparse.Namespace, place: int) -> list[Outcome]:
    """Judges the operator at a place of the list."""
    warnings.simplefilter("ignore")
    logging.disable()
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _interrupt)
    info = _infos(options.operators)[place]
    dtypes = [dtype for dtype in options.dtypes if getattr(torch, dtype) in info.dtypes]
    return [outcome for dtype in dtypes for outcome in outcomes(info, dtype, options.samples, options.seconds, options.targets)]


def _run(options: argparse.Namespace, log: TextIO | None) -> Iterator[Outcome]:
    """The outcomes of all operators."""
    infos = _infos(options.operators)
    with chosen_executor(options) as executor:
        for place, future in in_order(executor, partial(work, options), range(len(infos))):
            try:
                found = future.result()
            except LostProcessError as error:
                found = [Outcome(infos[place].name, "", 0, "wrong", str(error))]
            for outcome in found:
                if log is not None:
                    log.write(json.dumps(outcome) + "\n")
                    log.flush()
                yield outcome


def _print_reasons(found: Sequence[Outcome], verdict: Verdict) -> None:
    reasons: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in found:
        if outcome.verdict == verdict:
            lines = outcome.reason.splitlines() or [""]
            first = next((line for line in lines[1:] if line.strip()), lines[0]) if "unsupported construct" in lines[0] else lines[0]
            reasons[_NUMBERS.sub("…", first.strip())[:200]].append(outcome)
    for reason, listed in sorted(reasons.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(outcome.operator for outcome in listed))
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        print(f"{len(listed):6} {verdict}: {reason}\n         {', '.join(names[:12])}{more}")


def main() -> int:
    """Returns whether a result was wrong."""
    parser = argparse.ArgumentParser(prog="op_db", description="PyTorch's samples of its operators against the C runtime.")
    parser.add_argument("operators", nargs="*", help="their names in op_db (all)")
    parser.add_argument("--samples", type=int, default=4, help="the most of one operator and dtype (4)")
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), help="of the samples (float32 int64 bool)")
    parser.add_argument("--seconds", type=int, default=60, help="the longest that one sample may take (60)")
    parser.add_argument(
        "--targets", nargs="+", default=["executorch", "flambeau"], help="whose kernels programs use, the first one that has them"
    )
    parser.add_argument("--log", type=Path, help="a file that receives each outcome as a line of JSON")
    add_job_options(parser)
    arguments = parser.parse_args()
    log = arguments.log.open("w", encoding="utf-8") if arguments.log else None
    found = list(_run(arguments, log))
    for verdict in ("refused", "wrong"):
        _print_reasons(found, verdict)
    counts: Counter[str] = Counter()
    for dtype in (*arguments.dtypes, ""):
        chosen = [outcome for outcome in found if not dtype or outcome.dtype == dtype]
        counts = Counter(outcome.verdict for outcome in chosen)
        elsewhere = sum(outcome.verdict == "taken" and bool(outcome.reason) for outcome in chosen)
        exported = counts.total() - counts["not exported"]
        share = f"{100 * counts['taken'] / max(exported, 1):.1f} %"
        told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("refused", "wrong"))
        other = f"; {elsewhere} of those taken need {' or '.join(arguments.targets[1:])}" if elsewhere else ""
        print(f"{dtype or 'all'}: {exported} exported, {counts['taken']} taken ({share}), {told}{other}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    from campaigns import op_db  # other processes import its functions by this name

    sys.exit(op_db.main())
