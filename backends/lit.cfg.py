"""How lit runs the FileCheck tests of the backends, in their folders `test`: as those of `test/filecheck`."""

from pathlib import Path

here = Path(__file__).resolve().parent
lit_config.load_config(config, str(here.parent / "test" / "filecheck" / "lit.cfg.py"))
config.name = "backends"
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "filecheck-backends")
