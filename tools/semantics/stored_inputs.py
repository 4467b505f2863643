"""Reads inputs that are stored in an `.npz` file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from flambeau.support.lazy import Array, np
from flambeau.tools.semantics.reference_results import SemanticsError


def load_inputs(path: Path) -> Mapping[str, Array]:
    """Returns the arrays of an `.npz` file by name. Raises SemanticsError, OSError."""
    with path.open("rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not an archive")
            with np.load(file, allow_pickle=False) as loaded:
                return {name: cast("Array", loaded[name]) for name in loaded.files}
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise SemanticsError(f"{path} is not an .npz file of arrays, as numpy.savez writes: {error}") from error
