"""The pass manager as a library: what someone who imports flambeau can do with it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

import flambeau
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.kit import Operation, OperationPass, PatternPass, op, rewrites
from flambeau.passes.manager import Instrumentation, PassError, PassStep, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.rewriting.actions import Action
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.transforms.cse import CsePass
from flambeau.passes.transforms.remove_dead_code import RemoveDeadCodePass
from flambeau.tools.instruments.timing import Timer

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core.clone(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = core.add.Tensor(%0, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
"""

VIEW = 'aten.view(%1) {size = [4]} : (tensor<4xf32>) -> tensor<4xf32> loc("a.b"("m.py":3:0))'


class Journal(flambeau.Instrumentation):
    """Writes down what happens."""

    def __init__(self, name: str, lines: list[str]):
        self.name = name
        self.lines = lines

    def before_pass(self, step: flambeau.PassStep) -> None:
        where = step.op.sym_name.data if isinstance(step.op, FuncOp) else "module"
        self.lines.append(f"{self.name}: {'/'.join(step.path)} {step.name} on {where}")

    def after_pass(self, step: flambeau.PassStep) -> None:
        self.lines.append(f"{self.name}: {step.name} done {dict(step.counters)}")

    def after_pass_failed(self, step: flambeau.PassStep, error: Exception) -> None:
        self.lines.append(f"{self.name}: {step.name} failed")


class Rewrites(flambeau.Instrumentation):
    """Counts single rewrites, and allows so many."""

    def __init__(self, most: int):
        self.most = most
        self.seen: Counter[str] = Counter()

    def before_action(self, action: Action) -> bool:
        return sum(self.seen.values()) < self.most

    def after_action(self, action: Action, changed: bool) -> None:
        if changed:
            self.seen[action.name] += 1


def parsed() -> tuple[ModuleOp, flambeau.FlambeauContext]:
    context = flambeau.FlambeauContext()
    return parse_module(TEXT, context).module, context


def test_a_pipeline_is_text_and_passes():
    pipeline = flambeau.Pipeline.parse("builtin.module(func.func(canonicalize,cse))")
    assert str(pipeline) == "builtin.module(func.func(canonicalize,cse))"
    assert [item.name for item in pipeline.passes()] == ["canonicalize", "cse"]
    assert str(flambeau.Pipeline.of([CsePass()])) == "builtin.module(cse)"
    assert flambeau.Pipeline.parse("cse") == flambeau.Pipeline.of([CsePass()])


def test_instrumentations_nest():
    lines: list[str] = []
    module, context = parsed()
    flambeau.Pipeline.parse("func.func(cse)").run(module, context, [Journal("outer", lines), Journal("inner", lines)])
    assert lines == [
        "outer: builtin.module/func.func cse on f",
        "inner: builtin.module/func.func cse on f",
        "inner: cse done {'equal operations merged': 1}",
        "outer: cse done {'equal operations merged': 1}",
        "outer: builtin.module/func.func cse on g",
        "inner: builtin.module/func.func cse on g",
        "inner: cse done {}",
        "outer: cse done {}",
    ]


def test_single_rewrites_can_be_forbidden():
    module, context = parsed()
    rewrites = Rewrites(1)
    flambeau.Pipeline.parse("canonicalize,cse").run(module, context, [rewrites])
    assert rewrites.seen == {"IdentityPattern": 1}
    assert print_module(module).count("core.relu") == 2


def test_a_failing_pass_names_itself_and_the_operation():
    @rewrites(op("aten.clone"))
    def refuse(root: Operation) -> None:
        raise ValueError("clones are not for me")

    class RefusePass(PatternPass):
        name = "refuse"

        def patterns(self) -> list[Pattern]:
            return [refuse]

    lines: list[str] = []
    module, context = parsed()
    with pytest.raises(flambeau.PassError, match=r"^refuse: clones are not for me$") as caught:
        flambeau.Pipeline.of([RefusePass()]).run(module, context, [Journal("j", lines)])
    assert caught.value.diagnostic.op is not None
    assert caught.value.diagnostic.op.name == "core.clone"
    assert lines == ["j: builtin.module refuse on module", "j: refuse failed"]


def test_the_place_in_the_model_is_in_the_text_of_the_error():
    text = TEXT.replace("core.clone(%1) : (tensor<4xf32>) -> tensor<4xf32>", VIEW)
    context = flambeau.FlambeauContext()
    with pytest.raises(flambeau.PassError, match=re.escape("convert-core-to-edge: at a.b (m.py:3): 1 operation cannot be converted")):
        flambeau.Pipeline.parse("convert-core-to-edge").run(parse_module(text, context).module, context)


def test_passes_that_need_the_module_are_refused_inside_of_functions():
    with pytest.raises(ValueError, match="works on the whole module"):
        flambeau.Pipeline.parse("func.func(fold-constants)")
    assert issubclass(CsePass, OperationPass)


MODULES = """
builtin.module @outer {
  builtin.module @inner {
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %x : tensor<2xf32>
    }
  }
}
"""


def test_modules_may_stand_in_modules() -> None:
    context = FlambeauContext()
    module = parse_module(MODULES, context).module
    text = "builtin.module(builtin.module(func.func(remove-dead-code)))"
    assert str(Pipeline.parse(text)) == text
    Pipeline.parse(text).run(module, context)
    assert not any(op.name == "core.relu" for op in module.walk())


@dataclass(frozen=True)
class EraseItselfPass(OperationPass):
    """Erases what it runs on."""

    name = "erase-itself"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        op.detach()
        op.erase()


def test_a_nested_pass_may_not_erase_its_operation() -> None:
    context = FlambeauContext()
    module = parse_module(MODULES, context).module
    pipeline = Pipeline(MODULE, (Pipeline(MODULE, (EraseItselfPass(), RemoveDeadCodePass())),))
    with pytest.raises(PassError, match=r"^erase-itself: erased the builtin.module that it was to work on"):
        pipeline.run(module, context)


class Refuses(Instrumentation):
    """A check that refuses what one pass left."""

    def check_pass(self, step: PassStep) -> None:
        if step.name == "cse":
            raise PassError(step, "is refused")


def test_what_a_check_refuses_is_a_failure_of_the_pass_for_all_that_watch() -> None:
    seen: list[str] = []

    class Notes(Instrumentation):
        def after_pass(self, step: PassStep) -> None:
            seen.append(f"{step.name} succeeded")

        def after_pass_failed(self, step: PassStep, error: Exception) -> None:
            seen.append(f"{step.name} failed")

    context = FlambeauContext()
    module = parse_module(MODULES, context).module
    with pytest.raises(PassError, match="cse: is refused"):
        Pipeline.parse("remove-dead-code,cse,canonicalize").run(module, context, [Notes(), Refuses(), Notes()], verify_each=False)
    assert seen == ["remove-dead-code succeeded"] * 2 + ["cse failed"] * 2


@dataclass(frozen=True)
class MisdeclarePass(OperationPass):
    """Leaves functions of wrong types."""

    name = "misdeclare"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                function.properties["function_type"] = FunctionType.from_lists([], [])


def test_only_the_end_may_be_verified() -> None:
    for last, notes in (
        (False, None),
        (True, ["only the end was verified: an earlier pass may have left it so; flambeau-opt verifies each"]),
    ):
        context = FlambeauContext()
        module = parse_module(MODULES, context).module
        with pytest.raises(PassError, match="^cse: left the module invalid" if last else "^misdeclare: left the") as caught:
            Pipeline(MODULE, (MisdeclarePass(), CsePass())).run(module, context, verify_each=not last, verify_last=True)
        assert notes is None or [note.message for note in caught.value.diagnostic.notes] == notes
    Pipeline(MODULE, (MisdeclarePass(),)).run(parse_module(MODULES, context).module, context, verify_each=False)


@dataclass(frozen=True)
class RenamePass(OperationPass):
    """Renames what it runs on, or what stands beside."""

    name = "rename"
    others: bool = False

    def apply_to(self, ctx: Context, op: Operation) -> None:
        around = op.parent_op()
        assert isinstance(around, ModuleOp)
        for other in around.body.block.ops:
            if (other is not op) is self.others:
                other.properties["sym_name"] = StringAttr("same")


@dataclass(frozen=True)
class EraseOthersPass(OperationPass):
    """Erases what stands beside what it runs on."""

    name = "erase-others"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for other in list(op.parent.ops if op.parent is not None else ()):
            if other is not op:
                other.detach()
                other.erase()


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        (RenamePass(), "^rename: .*the symbol @same is defined twice(.|\n)*another of its passes may have left it so"),
        (RenamePass(others=True), "^rename: .*the symbol @same is defined twice"),
        (EraseOthersPass(), r"^erase-others: erased a func\.func beside the operation that it works on"),
    ],
)
def test_a_nested_pass_that_breaks_what_is_around_it_is_found_out(nested: OperationPass, message: str) -> None:
    context = FlambeauContext()
    module = parse_module("func.func private @f()\nfunc.func private @g()\nfunc.func private @h()", context).module
    with pytest.raises(PassError, match=message):
        Pipeline(MODULE, (Pipeline("func.func", (nested,)),)).run(module, context, [Timer()])


def test_no_pass_runs_on_an_operation_that_is_not_isolated() -> None:
    context = FlambeauContext()
    text = "func.func @f(%n : index) {\n  scf.for %i = %n to %n step %n {\n    scf.yield\n  }\n  func.return\n}"
    module = parse_module(text, context).module
    Pipeline.parse("func.func(any(cse))").run(module, context)
    with pytest.raises(PassError, match=r"^cse: scf\.for is not isolated: "):
        Pipeline.parse("func.func(scf.for(cse))").run(module, context)


def test_a_pattern_that_leaves_its_users_invalid_is_found_by_bisection() -> None:
    @rewrites(op("aten.sum"))
    def halve(found: Operation) -> Operation:
        return op("aten.sum.dim_IntList")(found.operands[0], (0,))

    class HalvePass(PatternPass):
        name = "halve"

        def patterns(self) -> list[Pattern]:
            return [halve]

    context = FlambeauContext()
    text = """func.func @f(%x : tensor<2x2xf32>) -> tensor<f32> {
  %0 = aten.sum(%x) : (tensor<2x2xf32>) -> tensor<f32>
  %1 = aten.exp(%0) : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}"""
    module = parse_module(text, context).module
    with pytest.raises(PassError, match=r"^halve: left the module invalid: ") as caught:
        Pipeline.of([HalvePass()]).run(module, context)
    assert caught.value.diagnostic.notes[-1].message.startswith("flambeau bisect --crash, ")
