"""What every test has: conftest.py of each folder of tests takes these."""

import random
import sys
import tempfile
from collections.abc import Generator
from typing import Any, cast
from zlib import crc32

import numpy as np
import pytest
from memory import free_memory


@pytest.fixture(scope="session", autouse=True)
def temporary_files_in_one_place(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """What tools leave in the folder for temporary files, such as reproducers, goes when the files of the tests go."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def no_forced_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is text without colours, whatever the terminal of whoever runs the tests is told."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def random_numbers_of_one_test(request: pytest.FixtureRequest) -> None:
    """What a test draws is the same in every run, alone or after any other tests: its name is the seed."""
    seed = crc32(request.node.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        cast(Any, sys.modules["torch"]).manual_seed(seed)


@pytest.fixture(scope="module", autouse=True)
def memory_of_one_file() -> Generator[None, None, None]:
    """What the tests of a file leave in memory does not stay until the last one."""
    yield
    free_memory()
