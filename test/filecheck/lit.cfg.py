"""How lit runs the files of this folder: `lit test/filecheck`."""

import os
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
root = here.parent.parent
sys.path.insert(0, str(here))

from in_process import InProcessTest  # noqa: E402  the folder must be on the path first

config.name = "flambeau"
config.suffixes = [".mlir"]
config.test_source_root = str(here)
config.test_exec_root = str(root / "build" / "filecheck")
config.test_format = InProcessTest()
for variable in ("FORCE_COLOR", "CLICOLOR_FORCE"):
    os.environ.pop(variable, None)
# For the tests that fall back to the shell: the tools of the environment that runs lit.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
for variable in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
