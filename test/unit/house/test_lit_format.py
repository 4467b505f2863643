"""The in-process lit format: what passes, what fails, what goes to the shell."""

import re
import subprocess
import sys
from pathlib import Path

FORMAT = Path(__file__).resolve().parents[2] / "filecheck"

TOOL = """\
import sys

def main(argv):
    if "--crash" in argv:
        raise ValueError("boom")
    if "--bad" in argv:
        print("file:1:2: bad thing", file=sys.stderr)
        return 1
    files = [argument for argument in argv if argument.endswith(".mlir")]
    text = open(files[0]).read() if files else sys.stdin.read()
    print("\\n".join(line for line in text.splitlines() if not line.startswith("//")))
    return 0
"""

CONFIG = f"""\
import sys
from pathlib import Path
here = Path(__file__).parent
sys.path[:0] = [{str(FORMAT)!r}, str(here)]
import in_process
in_process.TOOLS["flambeau-opt"] = ("tool", False)
config.name = "format"
config.suffixes = [".mlir"]
config.test_exec_root = str(here / "out")
config.test_format = in_process.InProcessTest()
config.environment["PATH"] = str(Path(sys.executable).parent) + ":/usr/bin:/bin"
"""

PASS = {
    "output": "// RUN: flambeau-opt %s | filecheck %s\n// CHECK: hello\nhello\n",
    "continued": '// RUN: flambeau-opt %s -p "a{b=c|d}" \\\n// RUN:   | flambeau-opt | filecheck %s\n// CHECK: hello\nhello\n',
    "files": "// RUN: flambeau-opt %s > %t\n// RUN: filecheck %s < %t\n// CHECK: hello\nhello\n",
    "rejected": "// RUN: not flambeau-opt --bad %s 2>&1 | filecheck %s\n// CHECK: bad thing\n",
    "shell": "// RUN: echo hello | filecheck %s\n// CHECK: hello\n",
}

FAIL = {
    "mismatch": "// RUN: flambeau-opt %s | filecheck %s\n// CHECK: hullo\nhello\n",
    "second": "// RUN: flambeau-opt %s\n// RUN: flambeau-opt %s | filecheck %s\n// CHECK: hullo\nhello\n",
    "crash": "// RUN: not flambeau-opt --crash %s 2>&1 | filecheck %s\n// CHECK: boom\n",
    "status": "// RUN: flambeau-opt --bad %s 2>&1 | filecheck %s\n// CHECK: bad thing\n",
    "accepted": "// RUN: not flambeau-opt %s\nhello\n",
    "stderr": "// RUN: not flambeau-opt --bad %s | filecheck %s\n// CHECK: bad thing\n",
}


def test_results(tmp_path: Path):
    (tmp_path / "tool.py").write_text(TOOL)
    (tmp_path / "lit.cfg.py").write_text(CONFIG)
    for name, text in (PASS | FAIL).items():
        (tmp_path / f"{name}.mlir").write_text(text)
    lit = [sys.executable, "-c", "from lit.main import main; main()", "-v", "-j1", str(tmp_path)]
    output = subprocess.run(lit, capture_output=True, text=True, check=False).stdout
    result = {name: word for word, name in re.findall(r"^(\w+): format :: (\w+)\.mlir", output, flags=re.MULTILINE)}
    assert result == dict.fromkeys(PASS, "PASS") | dict.fromkeys(FAIL, "FAIL"), output
    assert "ValueError: boom" in output, "the report of a crash shows its traceback"
