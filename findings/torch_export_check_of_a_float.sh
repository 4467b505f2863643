#!/usr/bin/env bash
# torch.export drops a check that compares a number of the data with a dynamic size, if the number is a float
#
# A model checks `limit.item() <= x.shape[0]`, where the first dimension of `x` is dynamic. With an integer limit the exported program has the
# check, and refuses what the model refuses. With a float limit the graph has the addition alone: no runtime that takes the program can refuse.
#
# Expected: an exported program is a sound representation of the model, so it refuses what torch._check refuses, as it does with integers:
#   https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/export.html
# Seen: the program with the float limit of 100 takes 4 rows, as does the ExecuTorch program that is made of it.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Model(torch.nn.Module):
    def forward(self, x, limit):
        torch._check(limit.item() <= x.shape[0])
        return x + 1


def refuses(run, *inputs):
    try:
        run(*inputs)
    except RuntimeError:
        return True
    return False


rows = {0: torch.export.Dim("rows", min=2, max=8)}
seen = {}
for dtype in (torch.int64, torch.float32):
    program = torch.export.export(Model(), (torch.ones(4), torch.tensor(3, dtype=dtype)), dynamic_shapes=(rows, None))
    data = to_edge(program).to_executorch().buffer  # the runtime reads it until the end
    loaded = Runtime.get().load_program(data)
    method = loaded.load_method("forward")
    inputs = torch.ones(4), torch.tensor(100, dtype=dtype)
    engines = {"eager": Model(), "exported": program.module()}
    if dtype == torch.float32:
        engines["ExecuTorch"] = lambda *inputs: method.execute(list(inputs))
    seen[dtype] = {name: refuses(run, *inputs) for name, run in engines.items()}
    print(f"{dtype}: expected a refusal everywhere, seen {seen[dtype]}")
described = {torch.int64: {"eager": True, "exported": True}, torch.float32: {"eager": True, "exported": False, "ExecuTorch": False}}
sys.exit(None if seen == described else f"changed: who refuses is now {seen}")
PYTHON
