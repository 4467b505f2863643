#!/usr/bin/env bash
# vgf_dump writes scenarios with a command that the scenario runner of the same version calls deprecated
#
# `vgf_dump --scenario-template` writes a scenario for a VGF file, which the runner reads once the paths are filled in. The command in it has the
# name `dispatch_graph`. The runner, which is only asked to read the scenario, and stops at the first path, warns of it.
#
# Expected: the template has the command that the runner wants:
#   https://github.com/arm/ai-ml-sdk-vgf-library/blob/main/README.md
# Seen: "Command 'dispatch_graph' is deprecated; use 'dispatch_vgf' instead."
. "$(dirname "$0")/common.sh"
use ai_ml_sdk_model_converter==0.11.0 ai_ml_sdk_vgf_library==0.11.0 ai_ml_sdk_scenario_runner==0.11.0

observe <<'PYTHON'
import json
import subprocess
import sys
from pathlib import Path

Path("graph.mlir").write_text("""
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = tosa.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
""")
subprocess.run(["model-converter", "--input", "graph.mlir", "--output", "graph.vgf"], check=True, capture_output=True)
dump = ["vgf_dump", "--input", "graph.vgf", "--scenario-template", "--output", "scenario.json"]
subprocess.run(dump, check=True, capture_output=True)
commands = [name for command in json.loads(Path("scenario.json").read_text())["commands"] for name in command]
read = subprocess.run(["scenario_runner", "--scenario", "scenario.json", "--dry-run"], capture_output=True, text=True)
warnings = [line for line in (read.stdout + read.stderr).splitlines() if "deprecated" in line]
print(f"expected ['dispatch_vgf'] and no warning, seen {commands} and {warnings}")
described = commands == ["dispatch_graph"] and any("'dispatch_graph' is deprecated; use 'dispatch_vgf'" in line for line in warnings)
sys.exit(None if described else f"changed: the template has {commands}, and the runner says {warnings}")
PYTHON
