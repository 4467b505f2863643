"""numpy is imported when it is first used, whole."""

from __future__ import annotations

import subprocess
import sys


def output_of(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_numpy_is_imported_on_first_use() -> None:
    code = "import sys\nfrom flambeau.support.lazy import np\nprint('numpy' in sys.modules, np.zeros(2).tolist(), 'numpy' in sys.modules)"
    assert output_of(code) == "False [0.0, 0.0] True"


def test_an_extension_that_imports_a_part_of_numpy_first_finds_it_whole() -> None:
    lines = ["from flambeau.support.lazy import np", "import ml_dtypes, numpy", "numpy.testing.assert_array_equal(np.ones(2), [1, 1])"]
    assert output_of("\n".join([*lines, "print('whole')"])) == "whole"
