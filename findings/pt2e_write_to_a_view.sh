#!/usr/bin/env bash
# torchao's convert_pt2e loses a write to a view, if the value has two uses
#
# torch.export leaves in-place operators in the graph. Quantization gives each use of an annotated value a dequantize of its own, so the view that
# the model writes to and the operator that reads the value afterwards have two tensors: the write reaches only one of them.
#
# Expected: a quantized model is near the float model, and the flow takes `torch.export.export(…).module()` as it is:
#   https://docs.pytorch.org/ao/stable/pt2e_quantization/index.html
# Seen: a column that the model sets to 0 before it doubles the value has other numbers than 0. After run_decompositions({}), whose graph has no
# in-place operators, the column is 0.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        y[:, 0] = 0.0
        return y + y


def quantized(program, x):
    prepared = prepare_pt2e(program.module(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config()))
    prepared(x)
    return convert_pt2e(prepared)


torch.manual_seed(0)
model, x = Model().eval(), torch.randn(8, 2)
program = torch.export.export(model, (x,))
columns = {
    "in floats": model(x)[:, 0],
    "quantized": quantized(program, x)(x)[:, 0],
    "quantized without in-place operators": quantized(program.run_decompositions({}), x)(x)[:, 0],
}
for name, column in columns.items():
    print(f"{name}: expected 0 everywhere, seen {[round(number, 3) for number in column.tolist()]}")
seen = [bool((column == 0).all()) for column in columns.values()]
sys.exit(None if seen == [True, False, True] else f"changed: whether the column is 0 is now {seen}")
PYTHON
