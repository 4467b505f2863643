#!/usr/bin/env bash
# ExecuTorch writes the result of a torch.cond over that of the torch.cond before it
#
# The memory plan of a program with two conditionals, one after the other, gives the tensors of their branches the same bytes, although the result
# of the first is read after the second has run. No option is needed for this, and nothing warns.
#
# Expected: each torch.cond has a result of its own: https://docs.pytorch.org/docs/stable/generated/torch.cond.html. ExecuTorch's planner
# places tensors by their lifespans: https://docs.pytorch.org/executorch/stable/compiler-memory-planning.html
# Seen: first + second is twice the second.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Model(torch.nn.Module):
    def forward(self, x):
        first = torch.cond(x.sum() > 0, lambda x: (x + 1) * 10, lambda x: x - 1, [x])
        second = torch.cond(x.sum() < 9, lambda x: x * 3 - 1, lambda x: x - 1, [x])
        return first + second


x = torch.ones(3)
data = to_edge(torch.export.export(Model(), (x,))).to_executorch().buffer  # the runtime reads it until the end
loaded = Runtime.get().load_program(data)
(result,) = loaded.load_method("forward").execute([x])
print(f"expected 20 + 2: {Model()(x).tolist()}, seen 2 + 2: {result.tolist()}")
sys.exit(None if result.tolist() == [4.0, 4.0, 4.0] else f"changed: the sum is now {result.tolist()}")
PYTHON
