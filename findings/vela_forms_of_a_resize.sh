#!/usr/bin/env bash
# Vela refuses to double an image for Ethos-U55 in one form of RESIZE, and takes the same in another
#
# TOSA says where pixels come from by a scale, an offset and a border. With the nearest pixel, the scale 2/1 and the offset -1 gives the same
# pixels as the scale 4/2, the offset -1 and the border 1: each twice, in both dimensions. Both are twofold, and valid.
#
# Expected: both are compiled, or the report of constraints says which form is; it says only "Upscale must be power-of-two in range 2x..8x":
#   vela --supported-ops-report, "Ethos-U55 and Ethos-U65 TOSA RESIZE Constraints"
#   https://www.mlplatform.org/tosa/tosa_spec.html#_resize
# Seen: of scale 2/1, "Non-passthrough operation (Resize) could not run on NPU"; that of 4/2 runs on the NPU.
. "$(dirname "$0")/common.sh"
use tosa-tools==2026.8.0 ethos-u-vela==5.2.0

observe <<'PYTHON'
import subprocess
import sys

import numpy as np
from tosa_reference_model import run as run_graph

NAMES = ("scale", "offset", "border")
FORMS = {"2/1": ([2, 1, 2, 1], [-1, -1], [0, 0]), "4/2": ([4, 2, 4, 2], [-1, -1], [1, 1])}
OPTIONS = ["--accelerator-config=ethos-u55-128", "--output-format=raw", "--output-dir=out"]


def graph_of(numbers):
    """The file of a graph that resizes an image of 4 by 4 pixels."""
    shapes = [
        f"%{name} = tosa.const_shape {{values = dense<{item}> : tensor<{len(item)}xindex>}} : () -> !tosa.shape<{len(item)}>"
        for name, item in zip(NAMES, numbers)
    ]
    kinds = "(tensor<1x4x4x8xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x8xi8>"
    resize = f'%y = "tosa.resize"(%x, %scale, %offset, %border) {{mode = #tosa.resize_mode<NEAREST_NEIGHBOR>}} : {kinds}'
    lines = "\n".join([*shapes, resize, "return %y : tensor<1x8x8x8xi8>"])
    text = f"module {{ func.func @main(%x: tensor<1x4x4x8xi8>) -> tensor<1x8x8x8xi8> {{\n{lines}\n}} }}"
    target = "--tosa-attach-target=specification_version=1.0 profiles=pro_int level=8k"
    passes = [target, "--tosa-validate=strict-op-spec-alignment", "--tosa-serialize=tosa-flatbuffer-filename=graph.tosa"]
    subprocess.run(["tosa-opt", *passes, "-", "-o", "/dev/null"], input=text, text=True, check=True)
    with open("graph.tosa", "rb") as file:
        return file.read()


image = np.arange(128, dtype=np.int8).reshape(1, 4, 4, 8)
results, taken = [], {}
for name, numbers in FORMS.items():
    found, status = run_graph(graph_of(numbers), [image])
    results.append(np.asarray(found[0]))
    done = subprocess.run(["vela", "graph.tosa", *OPTIONS], capture_output=True, text=True)
    taken[name] = done.returncode == 0
    print(f"scale {name}: expected to be compiled, seen: {'compiled' if taken[name] else (done.stdout + done.stderr).strip().splitlines()[-1]}")
if not all(np.array_equal(result, image.repeat(2, 1).repeat(2, 2)) for result in results):
    sys.exit("changed: the two forms give other pixels")
sys.exit(None if taken == {"2/1": False, "4/2": True} else f"changed: what is compiled is now {taken}")
PYTHON
