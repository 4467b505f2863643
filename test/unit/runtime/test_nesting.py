"""Inputs and outputs as the model nests them: keyword arguments, containers, and what does not fit."""

import json
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.utils import _pytree
from transformers.modeling_outputs import BaseModelOutput

from flambeau import to_edge
from flambeau.runtime import FlambeauError, Method, Runtime
from flambeau.runtime.binding.nesting import MOST_LEVELS, parse_nesting

X, Y, Z = (np.full(2, value, np.float32) for value in (1, 2, 3))


class Pair(NamedTuple):
    first: Any
    second: Any


_pytree._register_namedtuple(Pair, serialized_type_name="test_nesting.Pair")  # pyright: ignore[reportPrivateUsage]  there is no public way


class Nested(torch.nn.Module):
    def forward(
        self, x: torch.Tensor, pair: tuple[torch.Tensor, dict[str, torch.Tensor]], *, mask: torch.Tensor, extra: None = None
    ) -> Any:
        first, second = pair
        return {"sum": x + mask, "list": [first * 2, (second["a"] - second["b"], 3)], "none": extra}


class Containers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        pairs: list[tuple[str, Any]] = [("z", x + 1), ("y", x + 2)]
        default: defaultdict[str, Any] = defaultdict(list, {"q": x + 3})
        output: Any = BaseModelOutput
        return OrderedDict(pairs), default, Pair(x + 4, x + 5), output(last_hidden_state=x + 6)


def loaded(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Method:
    program = to_edge(torch.export.export(module, args, kwargs)).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


@pytest.fixture(scope="module")
def nested() -> Method:
    x, y, b, a, mask = torch.ones(5, 2)  # torch.export takes one tensor given twice for one input
    return loaded(Nested(), (x, (y, {"b": b, "a": a})), {"mask": mask})


def test_arguments_as_the_model_takes_them_and_their_leaves_give_the_same(nested: Method):
    leaves = nested.execute([X, Y, Z, X, Y])
    for found in (
        nested.execute([X, (Y, {"a": X, "b": Z})], {"mask": Y}),
        nested.execute((X, [Y, OrderedDict[str, Any](b=Z, a=X)]), kwargs={"mask": Y}),
        nested(X, (Y, {"b": Z, "a": X}), mask=Y),
        nested(X, Y, Z, X, Y),
    ):
        assert len(found) == len(leaves)
        for one, other in zip(found, leaves, strict=True):
            np.testing.assert_array_equal(one, other)


def test_outputs_are_nested_as_the_model_returned_them(nested: Method):
    found = nested.execute([X, (Y, {"a": X, "b": Z})], {"mask": Y}, nested=True)
    assert list(found) == ["sum", "list", "none"] and found["none"] is None
    np.testing.assert_array_equal(found["sum"], X + Y)
    doubled, (difference, three) = found["list"]
    np.testing.assert_array_equal(doubled, 2 * Y)
    np.testing.assert_array_equal(difference, X - Z)
    assert three == 3 and isinstance(found["list"], list) and isinstance(found["list"][1], tuple)


def test_each_kind_of_container_comes_back():
    found: list[Any] = loaded(Containers(), (torch.ones(2),)).execute([X], nested=True)
    assert [type(item) for item in found] == [OrderedDict, dict, tuple, dict]
    ordered, default, pair, output = found
    assert [*ordered, *default, *output] == ["z", "y", "q", "last_hidden_state"]
    values: list[Any] = [*ordered.values(), *default.values(), *pair, *output.values()]
    for value, expected in zip(values, range(2, 8), strict=True):
        np.testing.assert_array_equal(value, np.full(2, expected, np.float32))
    single = loaded(torch.nn.ReLU(), (torch.ones(2),)).execute([X], nested=True)
    np.testing.assert_array_equal(single, X)


@pytest.mark.parametrize(
    ("inputs", "kwargs", "message"),
    [
        ([X, (Y, {"a": X, "b": Z})], {"maks": Y}, "takes 2 positional inputs and the keyword inputs mask, .*; got 2 and maks"),
        ([X, (Y, {"a": X, "b": Z})], {}, "takes 2 positional inputs and the keyword inputs mask, .*; got 2"),
        ([X], {"mask": Y}, "takes 2 positional inputs and the keyword inputs mask, .*; got 1 and mask"),
        ([X, (Y,)], {"mask": Y}, "input 1: expected 2 values, as the model was exported with, got 1 values"),
        ([X, Y], {"mask": Y}, "input 1: expected 2 values, as the model was exported with, got ndarray"),
        ([X, (Y, {"a": X})], {"mask": Y}, r"input 1\[1\]: expected b, a, as the model was exported with, got a$"),
        ([X, (Y, [X, Z])], {"mask": Y}, r"input 1\[1\]: expected b, a, as the model was exported with, got 2 values"),
        ([X, (Y, {"a": X, "b": "z"})], {"mask": Y}, "input 2: expected a tensor"),
        ([X], {}, "takes 5 inputs, got 1"),
    ],
)
def test_what_does_not_fit_is_named(nested: Method, inputs: list[Any], kwargs: dict[str, Any], message: str):
    with pytest.raises(FlambeauError, match=f"^method 'forward'.*{message}"):
        nested.execute(inputs, kwargs)


def node(kind: str | None, context: Any, *children: Any) -> dict[str, Any]:
    return {"type": kind, "context": context, "children_spec": list(children)}


LEAF = node(None, None)


@pytest.mark.parametrize(
    "spec",
    ["", "x", "1", "[]", "[1]", "[2, {}]", json.dumps([1, {}]), json.dumps([1, node("builtins.list", "null", 3)]), "[" * 10_000],
)
def test_a_spec_that_is_not_understood_is_none(spec: str):
    assert parse_nesting(spec) is None


def test_a_spec_may_not_be_deeper_than_any_model():
    tree: Any = LEAF
    for _ in range(MOST_LEVELS + 1):
        tree = node("builtins.list", "null", tree)
    assert parse_nesting(json.dumps([1, tree])) is None
    nesting = parse_nesting(json.dumps([1, tree["children_spec"][0]]))
    assert nesting is not None and nesting.leaves == 1


def test_a_spec_that_contradicts_the_program_is_not_used():
    keys = parse_nesting(json.dumps([1, node("some.Class", '["a"]', LEAF, LEAF)]))
    assert keys is not None and keys.keys is None and keys.unflatten(iter([1, 2])) == (1, 2)
