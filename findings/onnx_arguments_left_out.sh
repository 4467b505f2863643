#!/usr/bin/env bash
# torch.onnx.export leaves out arguments that ONNX does not have, and says nothing
#
# ONNX's AveragePool has no divisor, and ScatterElements no mean. The exporter writes these nodes all the same, without the divisor and with the
# reduction "none", so ONNX Runtime computes something else than the model, without an error or a warning about either.
#
# Expected: an export that the format cannot express is an error, as the exporter raises for operators that it does not have:
#   https://docs.pytorch.org/docs/stable/onnx_export.html
#   https://onnx.ai/onnx/operators/onnx__ScatterElements.html and onnx__AveragePool.html, which list the attributes
# Seen: the sum of four ones (divisor_override=1) is 1 instead of 4; the mean of 0, 1 and 2 is 2, the last of them, instead of 1.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0

observe <<'PYTHON'
import io
import sys

import onnxruntime
import torch


class SumOfWindow(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x, 2, divisor_override=1)


class MeanOfScattered(torch.nn.Module):
    def forward(self, x, index, source):
        return x.scatter_reduce(0, index, source, "mean")


def in_onnx_runtime(model, inputs):
    file = io.BytesIO()
    torch.onnx.export(model, inputs, dynamo=True, verbose=False).save(file)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    return session.run(None, {port.name: value.numpy() for port, value in zip(session.get_inputs(), inputs)})[0].flatten().tolist()


cases = {
    SumOfWindow(): (torch.ones(1, 1, 2, 2),),
    MeanOfScattered(): (torch.zeros(2), torch.tensor([0, 0]), torch.tensor([1.0, 2.0])),
}
seen = []
for model, inputs in cases.items():
    seen.append(in_onnx_runtime(model, inputs))
    print(f"{type(model).__name__}: expected {model(*inputs).flatten().tolist()}, seen {seen[-1]}")
sys.exit(None if seen == [[1.0], [2.0, 0.0]] else f"changed: the results in ONNX Runtime are now {seen}")
PYTHON
