"""Which tests are near a file of the source: those that name it, then those that are usual for its folder."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

USUAL = {
    "dialects": ("test/unit/dialects", "test/unit/kernels/test_kernels_of_rows.py", "test/unit/kernels", "test/unit/frontends"),
    "passes/delegation": ("test/unit/passes/delegation", "backends", "test/unit/passes", "test/unit/compiler"),
    "passes/memory": ("test/unit/passes", "test/unit/runtime", "test/end_to_end/test_control_flow.py", "test/end_to_end/test_models.py"),
    "passes": (
        "test/unit/passes",
        "test/unit/kernels/test_fused_dtypes.py",
        "test/unit/compiler",
        "test/unit/frontends",
        "test/end_to_end",
    ),
    "runtime/c/kernels": ("test/unit/kernels", "test/end_to_end/quantized"),
    "runtime/c/core": ("test/unit/runtime", "test/end_to_end/test_bad_input.py", "test/end_to_end/test_pte_interop.py", "test/end_to_end"),
    "runtime": ("test/unit/runtime", "test/end_to_end/test_pte_interop.py", "test/unit/commands"),
}
"""Folders of the source, the most special first, with files and folders of tests."""
_ROW = re.compile(r'@(?:row\(\s*"(?P<dialect>\w+)",\s*"\w+",\s*|(?P<namespace>\w+)\(\s*)"(?P<operator>[\w.]+)\(')
_KERNEL = re.compile(r'KERNEL\("(?P<dialect>\w+)::(?P<operator>[\w.]+?)(?:\.out|_out)?"')


def nearest_tests(root: Path, file: str) -> list[str]:
    """Returns the test files near a source file, each once: those that import it, those that name it, then the usual ones."""
    path = PurePosixPath(file)
    usual = next(tests for folder, tests in USUAL.items() if path.is_relative_to(folder))
    module = re.compile(rf"\b{re.escape('.'.join(['flambeau', *path.with_suffix('').parts]))}\b")
    # A name of two words is nobody else's; the tests call a pass by it.
    name = re.compile(rf"\b{path.stem.replace('_', '[_-]')}\b" if "_" in path.stem.strip("_") else r"(?!)")
    every = sorted(found for folder in ("test", "backends") for found in (root / folder).rglob("test_*.py"))
    counts = {found: (len(module.findall(text)), len(name.findall(text))) for found in every for text in [found.read_text()]}
    named = sorted((found for found in every if any(counts[found])), key=counts.__getitem__, reverse=True)
    files = named + [found for start in usual for found in every if found.is_relative_to(root / start)]
    return [str(found.relative_to(root)) for found in dict.fromkeys(files)]


def nearest_filecheck(root: Path, file: str) -> list[str]:
    """Returns the FileCheck test of a pass, or those of a dialect."""
    path = PurePosixPath(file)
    candidates = (
        f"test/filecheck/passes/{path.parent.name}/{path.stem.replace('_', '-')}.mlir",
        *(f"test/filecheck/{part}" for part in path.parts[1:2]),
    )
    return [candidate for candidate in candidates if (root / candidate).exists()]


def operator_names(root: Path, file: str) -> list[str]:
    """Returns the operators that a file of rows declares, or whose kernels a file defines, as the tests name them."""
    path = root / file
    if path.suffix == ".py":
        text, pattern = path.read_text(), _ROW
    else:
        definitions = path.with_suffix(".def")
        text, pattern = definitions.read_text() if definitions.exists() else "", _KERNEL
    found = (match.groupdict() for match in pattern.finditer(text))
    return sorted({f"{names['dialect'] or names['namespace']}.{names['operator']}" for names in found})
