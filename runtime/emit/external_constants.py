"""Collects the constants that a program has in `.ptd` files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from flambeau.runtime.flat_tensor import NamedTensor, TensorLayout, write_flat_tensor

DEFAULT_FILE = "_default_external_constant"
"""The name, without `.ptd`, of the file for all constants, which is ExecuTorch's."""


_LITERAL = "lifted_tensor"
"""Part of the name that torch.export gives a tensor that the model's code makes of numbers."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a program, with the name of its parameter or buffer in the model, such as `layers.0.weight`."""

    name: str
    nbytes: int


ExternalFile = Callable[[Constant], str | None]
"""A function that names the file, without `.ptd`, of a constant; None leaves it in the program."""


def is_file_name(text: str) -> bool:
    """Returns whether a text names a file without a folder, on any system."""
    return bool(text) and "/" not in text and "\\" not in text


def all_external(constant: Constant) -> str:
    """Returns `DEFAULT_FILE`, which puts every constant into one file."""
    return DEFAULT_FILE


@dataclass
class ExternalConstants:
    """Decides which constants are put into `.ptd` files, and collects them by file and by name."""

    file_of: ExternalFile
    files: dict[str, dict[str, NamedTensor]] = field(default_factory=dict[str, dict[str, NamedTensor]])

    def place(self, name: str, whole: TensorLayout, layout: TensorLayout, data: memoryview) -> str | None:
        """Adds a constant to the file that `file_of` names. Returns the tensor's name there; None if it stays in the program.

        Args:
            name: the name of the constant.
            whole: the layout of the constant.
            layout: the layout of the tensor. A tensor with another layout than the constant is a view of it, with a name of its own.
            data: the bytes of the constant.

        Raises:
            TypeError: `file_of` returns neither a name nor None.
            ValueError: it returns a path.
        """
        # Literals of the model's code stay in the program, as in ExecuTorch.
        file = None if _LITERAL in name else self.file_of(Constant(name, len(data)))
        if file is None:
            return None
        if not isinstance(cast(object, file), str) or not file:
            raise TypeError(f"external_constants names the file of each constant, or gives None, not {file!r}")
        if not is_file_name(file):
            raise ValueError(f"external_constants names a file for {name!r} in another folder, {file!r}: give a name without / and \\")
        key = name if layout == whole else f"{name}:{'x'.join(map(str, layout.sizes))}:{','.join(map(str, layout.dim_order))}"
        self.files.setdefault(file.removesuffix(".ptd"), {})[key] = NamedTensor(key, data[: layout.nbytes], layout)
        return key

    def encoded(self) -> dict[str, bytes]:
        """Returns the bytes of each `.ptd` file, by its name without `.ptd`."""
        return {name: write_flat_tensor(tensors.values()) for name, tensors in self.files.items()}
