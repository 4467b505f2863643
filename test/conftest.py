"""What every test has."""

import tempfile
from collections.abc import Generator

import pytest


@pytest.fixture(scope="session", autouse=True)
def temporary_files_in_one_place(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """What tools leave in the folder for temporary files, such as reproducers, goes when the files of the tests go."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield
