"""Finds the weights file of a module (`model.safetensors` beside `model.mlir`), and checks that writing it loses no other weights."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.support.files import same_file
from flambeau.support.safetensors import is_ours

WEIGHTS = "weights"
"""The folder beside modules with the weights that they share."""

_SUFFIX = ".safetensors"


class BlobError(ValueError):
    """Bytes that are missing, that do not match the text, or that are in a damaged file. The message is one line for users."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, op=op)
        """The error, with the operation that refers to the bytes if it is known."""


def weights_beside(module_path: str | os.PathLike[str]) -> Path:
    """Returns the weights file of a module: `model.safetensors` for `model.mlir`; other names get `.safetensors` appended."""
    path = Path(module_path)
    return path.with_suffix(_SUFFIX) if path.suffix == ".mlir" else path.with_name(f"{path.name}{_SUFFIX}")


def takes_weights(module_path: str | os.PathLike[str]) -> bool:
    """Returns whether weights can be saved beside a module: beside a file, but not beside a device or a pipe."""
    path = Path(module_path)
    return path.is_file() or not path.exists()


def check_text_name(name: str | os.PathLike[str]) -> None:
    """Raises BlobError when the name for a text ends with `.safetensors`."""
    path = Path(name)
    if path.suffix == _SUFFIX:
        raise BlobError(f"{path} is a name for weights: write the IR to {path.with_suffix('.mlir')}")


def check_beside(module_path: str | os.PathLike[str], source: str | os.PathLike[str] | None = None) -> None:
    """Checks that writing a module with its weights beside it loses no other weights.

    Args:
        module_path: the file for the text.
        source: the file that was read, whose weights must stay unless it is `module_path` itself.

    Raises:
        BlobError: `module_path` ends with `.safetensors`, or the weights would replace those of another module or a file that Flambeau
            did not write.
    """
    check_text_name(module_path)
    path = Path(module_path)
    if not takes_weights(path) or not (weights := weights_beside(path)).exists():
        return
    check_replaceable(weights)
    if source is not None and same_file(path, source):
        return
    others = [path.with_name(f"{path.name}.mlir")] if path.suffix != ".mlir" else []
    if source is not None and same_file(weights, weights_beside(source)):
        others.insert(0, Path(source))
    for other in others:
        if other.exists():
            raise BlobError(f"{weights} holds the weights of {other}: write to a file of another name than {path}")


def files_beside(module_path: str | os.PathLike[str]) -> list[Path]:
    """Returns the existing files with the weights of a module.

    They are the file beside it, or the file for its name with the suffix replaced, or else all files of the folder `weights`.
    """
    path = Path(module_path)
    for file in (weights_beside(path), path.with_suffix(_SUFFIX)):
        if file.exists() and file != path:
            return [file]
    return sorted((path.parent / WEIGHTS).glob(f"*{_SUFFIX}"))


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raises BlobError when `path` is a file of weights that Flambeau did not write, such as a checkpoint."""
    file = Path(path)
    if file.is_file() and file.stat().st_size and not is_ours(file):
        raise BlobError(f"{path} exists and was not written by Flambeau: move it away, or write to a file of another name")
