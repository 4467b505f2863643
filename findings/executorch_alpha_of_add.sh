#!/usr/bin/env bash
# ExecuTorch's kernel of add multiplies the wrong operand by alpha, if the first operand has one element
#
# The optimized kernel of aten::add.out, which the Python runtime has, multiplies the first operand by alpha where that operand is a single
# number, and adds the second as it is. Operands of equal shapes are right.
#
# Expected: torch.add(a, b, alpha=3) is a + 3 * b: https://docs.pytorch.org/docs/stable/generated/torch.add.html
# Seen: for a = [10] and b = [1, 2, 4] the result is [31, 32, 34], which is 3 * a + b, and not [13, 16, 22].
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.add(a, b, alpha=3)


seen = []
for a in (torch.tensor([10.0]), torch.tensor([10.0, 10.0, 10.0])):
    inputs = a, torch.tensor([1.0, 2.0, 4.0])
    data = to_edge(torch.export.export(Model(), inputs)).to_executorch().buffer  # the runtime reads it until the end
    loaded = Runtime.get().load_program(data)
    (result,) = loaded.load_method("forward").execute(list(inputs))
    print(f"a of shape {tuple(a.shape)}: expected {Model()(*inputs).tolist()}, seen {result.tolist()}")
    seen.append(result.tolist())
described = [[31.0, 32.0, 34.0], [13.0, 16.0, 22.0]]
sys.exit(None if seen == described else f"changed: the sums are now {seen}")
PYTHON
