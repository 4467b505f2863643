"""The output files of the tool: the result with its weights, and requested reports."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.weight_files import BlobError, check_beside, check_text_name, takes_weights, weights_beside
from flambeau.dialects.ml_program.weights import weights_in
from flambeau.support.files import replacing, same_file, write_text


def text_file(name: str) -> str:
    """Returns the name of a text file, as the type of an option. Raises ArgumentTypeError for a program or a file of weights."""
    if (path := Path(name)).suffix == ".pte":
        raise ArgumentTypeError(
            f"{name} is a name for a program: write the IR to {path.with_suffix('.mlir')}; flambeau compile writes a .pte"
        )
    try:
        check_text_name(name)
    except BlobError as error:
        raise ArgumentTypeError(str(error)) from None
    return name


class ReportFile(str):
    """The name of a report file; `-` is stderr."""


def report_file(name: str) -> ReportFile:
    """Returns the name of a report file, as the type of an option. Raises ArgumentTypeError for what may be an input."""
    if (suffix := Path(name).suffix) in (".mlir", ".safetensors", ".pte", ".py", ".npz"):
        what = {".py": "Python source", ".npz": "arrays"}.get(suffix, "a module")
        raise ArgumentTypeError(f"{name} is the name of {what}, which a report must not overwrite: name another file")
    return ReportFile(name)


def check_reports(arguments: Namespace) -> None:
    """Raises ValueError if a report would overwrite the input, the result or another report."""
    taken = {os.path.realpath(arguments.input): "the input", os.path.realpath(arguments.output): "-o"}
    for name, value in vars(arguments).items():
        # Devices, such as /dev/stderr, take several reports.
        if isinstance(value, ReportFile) and value != "-" and (os.path.isfile(value) or not os.path.exists(value)):
            option = f"--{name.replace('_', '-')}"
            if (other := taken.setdefault(os.path.realpath(value), option)) != option:
                raise ValueError(f"{option} {value}: this is the file of {other} too: name another file")


class OutputWeights:
    """The weights of all modules of a result, which share a file."""

    def __init__(self) -> None:
        self._blobs = BlobStore()
        self._entries: list[tuple[BlobAttr, str, Sequence[int]]] = []

    def add(self, module: ModuleOp, blobs: BlobStore) -> None:
        """Adds the weights of a module, whose store is not needed afterwards. Raises BlobError if the store lacks some."""
        entries = weights_in(module, blobs)
        self._blobs.take(blobs, [blob for blob, *_ in entries])
        self._entries += entries

    def write(self, text: str, path: str, source: str) -> None:
        """Writes a text, and the weights beside it unless it is a device: both, or neither if one cannot be written.

        Raises:
            BlobError: the weights cannot be written, or would replace others, such as those of `source` where `path` is another file.
            OSError: the text cannot be written.
        """
        if self._entries:
            check_beside(path, None if source == "-" else source)
        with replacing(path) as file:
            file.write(text.encode())
            file.flush()
            if self._entries and takes_weights(path):
                self._blobs.save(weights_beside(path), self._entries, over_opened=same_file(path, source))


def write_json(path: str, report: Any) -> None:
    """Writes a report as JSON to a file; `-` is stderr, for stdout belongs to the IR. Raises OSError."""
    import json

    text = json.dumps(report, indent=1) + "\n"
    if path == "-":
        sys.stderr.write(text)
    else:
        write_text(path, text)
