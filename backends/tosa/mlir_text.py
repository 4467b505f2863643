"""A TOSA graph as text of MLIR's own `tosa` dialect, for `tosa-opt` and `mlir-opt`.

    python -m flambeau.backends.tosa.mlir_text graph.tosa > graph.mlir
    python -m flambeau.backends.tosa.mlir_text model.pte > graphs.mlir

Of a program each delegate is a function. The form is the generic one, so that versions of MLIR with other short forms read it too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from flambeau.backends.tosa.decode import MOST_DIMENSIONS
from flambeau.backends.tosa.dialect.operators import i48
from flambeau.backends.tosa.payload import ATTRIBUTES, DTYPES, IDENTIFIER, OPERATORS, packed, read, unpacked
from flambeau.dialects.ir.tensor_types import ElementType, numpy_dtype
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.pte import PteError, read_program
from flambeau.support.lazy import Array, np

_ELEMENTS = {number: element for element, number in DTYPES.items()}
_NAMES = {number: "i48" if element == i48 else str(element) for number, element in _ELEMENTS.items()}
_MOST_SPELLED = 32
"""The most elements that are written as numbers; more are written as bytes."""


def mlir_text(graphs: Mapping[str, memoryview]) -> str:
    """Returns graphs as a module with a function of each name. Raises BackendError for damaged graphs."""
    return "".join(["module {\n", *(_Function(name, read(data)).text() for name, data in graphs.items()), "}\n"])


class _Function:
    def __init__(self, name: str, block: Any):
        self.name = name
        self.block = block
        self.tensors: dict[str, Any] = {item.name: item for item in block.tensors}
        self.shapes: dict[str, Any] = {item.name: item for item in block.shapes}

    def text(self) -> str:
        try:
            inputs = ", ".join(f"{_value(name)}: {self._type(name)}" for name in self.block.inputs)
            outputs = ", ".join(_value(name) for name in self.block.outputs)
            types = ", ".join(self._type(name) for name in self.block.outputs)
            steps = [f"    {self._step(step)}\n" for step in self.block.operators]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise BackendError(f"a payload of 'TosaBackend' is damaged: {self.name} has no text of MLIR: {error!r}") from error
        end = f"    func.return {outputs} : {types}\n"
        return f"  func.func @{self.name}({inputs}) -> ({types}) {{\n{''.join(steps)}{end}  }}\n"

    def _step(self, step: Any) -> str:
        number: int = step.op
        name = OPERATORS[number - 1]
        properties = ", ".join(f"{key} = {value}" for key, value in self._properties(name, step).items())
        operands, results = (", ".join(map(_value, names)) for names in (step.inputs, step.outputs))
        kinds, made = (", ".join(map(self._type, names)) for names in (step.inputs, step.outputs))
        return f'{results} = "tosa.{name}"({operands}) {{{properties}}} : ({kinds}) -> {made}'

    def _properties(self, name: str, step: Any) -> dict[str, str]:
        (output,) = step.outputs
        if name == "const":
            return {"values": self._dense(self.tensors[output])}
        if name == "const_shape":
            numbers = np.frombuffer(self.shapes[output].data, np.int64, self.shapes[output].rank)
            return {"values": f"dense<{numbers.tolist()}> : tensor<{len(numbers)}xindex>"}
        found = {key: _FORMS[key](getattr(step.attribute, key)) for key in ATTRIBUTES[name].fields if key not in ("min_val", "max_val")}
        if name == "clamp":
            element = _ELEMENTS[self.tensors[output].type]
            found |= {key: _number(getattr(step.attribute, key), element) for key in ("min_val", "max_val")}
        return found

    def _type(self, name: str) -> str:
        if name in self.shapes:
            return f"!tosa.shape<{self.shapes[name].rank}>"
        return _tensor(self.tensors[name])

    def _dense(self, item: Any) -> str:
        element = _ELEMENTS[item.type]
        array = unpacked(item.data, element, prod(item.shape)).reshape(item.shape)
        return f"dense<{_elements(array, element)}> : {_tensor(item)}"


def _tensor(item: Any) -> str:
    if len(item.shape) > MOST_DIMENSIONS or min(item.shape, default=1) < 1:
        raise ValueError(f"{item.name!r} has the sizes {list(item.shape)}")
    return f"tensor<{''.join(f'{size}x' for size in item.shape)}{_NAMES[item.type]}>"


def _elements(array: Array, element: ElementType) -> str:
    if array.dtype == np.bool_:  # MLIR has eight of them in a byte
        return str(array.tolist()).lower()
    return str(array.tolist()) if array.dtype.kind == "i" and array.size <= _MOST_SPELLED else f'"0x{packed(array, element).hex().upper()}"'


def _number(data: bytes, element: ElementType) -> str:
    number = np.frombuffer(data, numpy_dtype(element), 1)
    text = str(number[0]) if number.dtype.kind == "i" else f"0x{number.tobytes()[::-1].hex().upper()}"
    return f"{text} : {element}"


def _value(name: str) -> str:
    if not name.replace("_", "").isalnum():
        raise ValueError(f"{name!r} is no name of a value")
    return f"%{name}"


def _list(width: int) -> Callable[[Sequence[int]], str]:
    return lambda numbers: f"array<i{width}: {', '.join(map(str, numbers))}>"


def _named(kind: str, names: Sequence[str]) -> Callable[[int], str]:
    return lambda number: f"#tosa.{kind}<{names[number - 1]}>"


_FORMS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("pad", "stride", "dilation", "kernel", "out_pad"), _list(64)),
    "perms": _list(32),
    "axis": lambda number: f"{number} : i32",
    "acc_type": lambda number: _NAMES[number],
    "nan_mode": _named("nan_mode", ("PROPAGATE", "IGNORE")),
    "rounding_mode": _named("rounding_mode", ("SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND")),
    "mode": _named("resize_mode", ("NEAREST_NEIGHBOR", "BILINEAR")),
    **dict.fromkeys(
        ("local_bound", "round", "scale32", "per_channel", "input_unsigned", "output_unsigned"), lambda flag: str(flag).lower()
    ),
}
"""How attributes are written."""


def graphs_of(data: bytes) -> Mapping[str, memoryview]:
    """Returns the graphs of a file: those of the delegates of a program, or the only one. Raises BackendError, PteError."""
    if data[4:8] == IDENTIFIER:
        return {"main": memoryview(data)}
    plans = read_program(data).execution_plan
    graphs = [memoryview(item.processed) for plan in plans for item in plan.delegates if item.id == "TosaBackend"]
    if not graphs:
        raise BackendError("it has no delegates of 'TosaBackend': compile it with --backend tosa")
    return {f"delegate{index}": graph for index, graph in enumerate(graphs)}


def main(arguments: Sequence[str]) -> int:
    """Writes the text of the file that the argument names."""
    if len(arguments) != 1:
        sys.exit(f"error: one file is expected, a graph or a program, got {len(arguments)}: {__spec__.name} model.pte")
    try:
        sys.stdout.write(mlir_text(graphs_of(Path(arguments[0]).read_bytes())))
    except OSError as error:
        sys.exit(f"error: {error}")
    except (BackendError, PteError) as error:
        sys.exit(f"error: {arguments[0]}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
