"""Which file holds the weights of a module: `model.safetensors` beside `model.mlir`. No other weights are lost when it is written."""

from __future__ import annotations

import os
from pathlib import Path

from flambeau.support.files import same_file
from flambeau.support.safetensors import is_ours

WEIGHTS = "weights"
"""The folder beside modules that holds the weights that they share."""

_SUFFIX = ".safetensors"


class BlobError(ValueError):
    """Bytes that are missing, different from what the text says, or stored in a damaged file. One line, for people."""


def weights_beside(module_path: str | os.PathLike[str]) -> Path:
    """Where the weights of a module are: `model.safetensors` for `model.mlir`; for another name that name with `.safetensors` after it."""
    path = Path(module_path)
    return path.with_suffix(_SUFFIX) if path.suffix == ".mlir" else path.with_name(f"{path.name}{_SUFFIX}")


def takes_weights(module_path: str | os.PathLike[str]) -> bool:
    """Whether weights can be saved beside a module: not beside a device or a pipe."""
    path = Path(module_path)
    return path.is_file() or not path.exists()


def check_text_name(name: str | os.PathLike[str]) -> None:
    """Raises BlobError when a text is to have the name of a file of weights."""
    path = Path(name)
    if path.suffix == _SUFFIX:
        raise BlobError(f"{path} is where the weights go: name the IR {path.with_suffix('.mlir')}")


def check_beside(module_path: str | os.PathLike[str], source: str | os.PathLike[str] | None = None) -> None:
    """Sees whether a module may be written with its weights beside it, so that no other weights are lost.

    Args:
        module_path: the file of the text.
        source: what is read, whose weights are to stay unless it is `module_path` itself.

    Raises:
        BlobError: `module_path` is the name of a file of weights, or the weights would replace those of another module, or of others.
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
            raise BlobError(f"{weights} holds the weights of {other}: give what is to be written another name than {path}")


def files_beside(module_path: str | os.PathLike[str]) -> list[Path]:
    """The files in which the weights of a module are looked for, as far as they exist.

    They are the file beside it, or one that belongs to its name with `.mlir` in place of another suffix, or else all that is in the folder
    `weights`.
    """
    path = Path(module_path)
    for file in (weights_beside(path), path.with_suffix(_SUFFIX)):
        if file.exists() and file != path:
            return [file]
    return sorted((path.parent / WEIGHTS).glob(f"*{_SUFFIX}"))


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raises BlobError when there is a file of weights that others wrote, such as a checkpoint: it is not to be lost."""
    file = Path(path)
    if file.is_file() and file.stat().st_size and not is_ours(file):
        raise BlobError(f"{path} exists and was not written by Flambeau: move it away, or give what is to be written another name")
