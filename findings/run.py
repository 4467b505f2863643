"""Runs every finding and prints a table of them. The exit status is 1 unless each tool behaves as its finding describes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SHARED = "common.sh"
PACKAGES = "packages: "
"""What the line with the names and versions of what was installed begins with."""
VERDICTS = {0: "as described", 3: "not installed"}
"""By exit status; any other one says that the behaviour has changed."""


def findings() -> list[Path]:
    """Returns the scripts, by name."""
    return sorted(path for path in FOLDER.glob("*.sh") if path.name != SHARED)


def main() -> int:
    """Runs the findings one after the other, which share their environments in a temporary folder. Returns the exit status."""
    different: list[tuple[str, str]] = []
    scripts = findings()
    width = max(len(path.stem) for path in scripts)
    print(f"{'finding':{width}}  {'verdict':13}  {'seconds':>7}  packages")
    with tempfile.TemporaryDirectory() as environments:
        for path in scripts:
            start = time.monotonic()
            environment = {"PYTHON": sys.executable, **os.environ, "FINDINGS": environments}
            done = subprocess.run([path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            verdict = VERDICTS.get(done.returncode, "changed")
            packages = [line.removeprefix(PACKAGES) for line in done.stdout.splitlines() if line.startswith(PACKAGES)]
            print(f"{path.stem:{width}}  {verdict:13}  {time.monotonic() - start:7.0f}  {', '.join(packages)}", flush=True)
            if done.returncode:
                different.append((path.stem, done.stdout))
    for name, output in different:
        print(f"\n{name}:\n{output}", end="")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
