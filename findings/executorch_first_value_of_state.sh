#!/usr/bin/env bash
# ExecuTorch starts a buffer that the model writes to with zeros, whatever its value in the model
#
# The value of a buffer that forward() changes is part of the exported program, and its module() begins with it. to_executorch() leaves it out
# unless the caller names the buffer in a pass, InitializedMutableBufferPass; nothing warns.
#
# Expected: the values of buffers are part of an ExportedProgram (its state_dict):
#   https://docs.pytorch.org/docs/stable/export/api_reference.html
# Seen: a counter of 5 that each call adds 1 to gives 1 and 2 in ExecuTorch, and 6 and 7 in PyTorch, in the exported program and with the pass.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((1,), 5.0))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def counts(run):
    return [run(torch.zeros(1)).item() for _ in range(2)]


def exported():
    return torch.export.export(Counter(), (torch.zeros(1),))


def in_executorch(**options):
    data = to_edge(exported()).to_executorch(ExecutorchBackendConfig(**options)).buffer  # the runtime reads it until the end
    loaded = Runtime.get().load_program(data)
    method = loaded.load_method("forward")
    return counts(lambda x: method.execute([x])[0])


seen = {
    "PyTorch": counts(Counter()),
    "the exported program": counts(exported().module()),
    "ExecuTorch": in_executorch(),
    "ExecuTorch with the pass": in_executorch(passes=[InitializedMutableBufferPass(["count"])]),
}
for name, found in seen.items():
    print(f"{name}: expected [6.0, 7.0], seen {found}")
described = [[6.0, 7.0], [6.0, 7.0], [1.0, 2.0], [6.0, 7.0]]
sys.exit(None if list(seen.values()) == described else f"changed: the first two counts are now {seen}")
PYTHON
