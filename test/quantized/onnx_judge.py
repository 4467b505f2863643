"""ONNX Runtime as the judge of payloads with ONNX models, in the Python that `make vendor-tools` installs; and a network to judge."""

import torch
from payload_judges import Judge
from torch import Tensor, nn

_RUN = """
import onnx, onnxruntime

def run(data, arrays):
    model = data[{skipped}:]
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # of floats, as the model says, not of int8
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    inputs = [*session.get_inputs(), *session.get_overridable_initializers()]  # these are states, which have a first value
    return session.run(None, {{item.name: array for item, array in zip(inputs, arrays)}})
"""


def onnxruntime(python: str, skipped: int) -> Judge:
    """Returns ONNX Runtime, of models behind so many bytes, which the package onnx checks before."""
    return Judge(python, _RUN.format(skipped=skipped))


class Images(nn.Module):
    """Layers of images with a residual sum, joined channels, and classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.each = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.point, self.classes = nn.Conv2d(16, 8, 1, bias=False), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        y = nn.functional.relu6(self.each(x))
        z = torch.relu(self.point(torch.cat([x + y, y], 1)))
        return self.classes(nn.functional.max_pool2d(z, 2).mean((2, 3)))
