"""Models that a device runs, small: what they consist of is what counts. And their journey through a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from memory import free_memory
from models import MobileNetV2, deit_tiny, gpt2, llama, lstm_classifier, minilm, mobilenet_v2, resnet18
from torch import Tensor, nn
from torch.nn import functional as F

from flambeau.compiler.edge_program import EdgeProgramManager, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret

Tensors = tuple[Tensor, ...]
Floats = tuple[nn.Module, Tensors]
"""A model in floats, and its inputs."""


@dataclass
class Case:
    """A model, what it is called with, and which sizes only the run knows."""

    module: nn.Module
    calls: list[Tensors]
    dynamic_shapes: Any = None
    is_dynamic_in_executorch: bool = True
    """Whether the program that ExecuTorch makes of it takes all sizes."""

    def export(self) -> torch.export.ExportedProgram:
        """The program."""
        with torch.no_grad():
            return torch.export.export(self.module, self.calls[0], dynamic_shapes=self.dynamic_shapes)


def _norm(module: nn.Module, channels: int) -> tuple[nn.Module, nn.Module]:
    norm = nn.BatchNorm2d(channels)
    with torch.no_grad():
        cast(Tensor, norm.running_mean).uniform_(-0.5, 0.5)
        cast(Tensor, norm.running_var).uniform_(0.5, 2)
    return module, norm


class SqueezeExcite(nn.Module):
    """A gate for each channel."""

    def __init__(self, channels: int, squeezed: int):
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))


class InvertedBottleneck(nn.Module):
    """A block of MobileNetV3."""

    def __init__(self, inputs: int, hidden: int, outputs: int, kernel: int, stride: int, gated: bool, act: type[nn.Module]):
        super().__init__()
        depthwise = nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False)
        self.layers = nn.Sequential(
            *_norm(nn.Conv2d(inputs, hidden, 1, bias=False), hidden),
            act(),
            *_norm(depthwise, hidden),
            act(),
            SqueezeExcite(hidden, 8) if gated else nn.Identity(),
            *_norm(nn.Conv2d(hidden, outputs, 1, bias=False), outputs),
        )
        self.has_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.has_residual else self.layers(x)


def mobilenet_v3() -> Case:
    """MobileNetV3-Small's blocks, each kind once."""
    layers = nn.Sequential(
        *_norm(nn.Conv2d(3, 16, 3, 2, 1, bias=False), 16),
        nn.Hardswish(),
        InvertedBottleneck(16, 16, 16, 3, 2, True, nn.ReLU),
        InvertedBottleneck(16, 72, 24, 3, 2, False, nn.ReLU),
        InvertedBottleneck(24, 96, 40, 5, 2, True, nn.Hardswish),
        InvertedBottleneck(40, 120, 40, 5, 1, True, nn.Hardswish),
        *_norm(nn.Conv2d(40, 64, 1, bias=False), 64),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 96),
        nn.Hardswish(),
        nn.Dropout(0.2),
        nn.Linear(96, 10),
    )
    return Case(layers.eval(), [(torch.rand(1, 3, 64, 64),)])


def halves(case: Case) -> Case:
    """A case in float16."""
    case.module.half()
    return Case(case.module, [tuple(tensor.half() for tensor in call) for call in case.calls], case.dynamic_shapes)


class RootMeanSquare(nn.Module):
    """A norm as language models compute it: in float32, whatever their type."""

    def __init__(self, features: int):
        super().__init__()
        self.weight, self.next = nn.Parameter(torch.rand(features)), nn.Linear(features, features)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x + F.silu(self.next(self.weight * normed.to(x.dtype)))


def ds_cnn() -> Case:
    """Keyword spotting: separable convolutions of a spectrogram."""
    layers: list[nn.Module] = [*_norm(nn.Conv2d(1, 64, (10, 4), 2, (5, 1), bias=False), 64), nn.ReLU()]
    for _ in range(4):
        layers += [*_norm(nn.Conv2d(64, 64, 3, 1, 1, groups=64, bias=False), 64), nn.ReLU()]
        layers += [*_norm(nn.Conv2d(64, 64, 1, bias=False), 64), nn.ReLU()]
    layers += [nn.AvgPool2d((25, 5)), nn.Flatten(), nn.Linear(64, 12), nn.Softmax(-1)]
    return Case(nn.Sequential(*layers).eval(), [(torch.rand(1, 1, 49, 10),)])


def person_detection(size: int) -> Floats:
    """MobileNetV1 of a quarter of the channels, on one grey image: whether there is a person."""
    layers: list[nn.Module] = [*_norm(nn.Conv2d(1, 8, 3, 2, 1, bias=False), 8), nn.ReLU6()]
    inputs = 8
    for outputs, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *((128, 1),) * 5, (256, 2), (256, 1)):
        layers += [*_norm(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), inputs), nn.ReLU6()]
        layers += [*_norm(nn.Conv2d(inputs, outputs, 1, bias=False), outputs), nn.ReLU6()]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 2), nn.Softmax(-1)]
    return nn.Sequential(*layers).eval(), (torch.randn(1, 1, size, size),)


def _case(model: tuple[nn.Module, Tensors]) -> Case:
    return Case(model[0], [model[1]])


class Ids(nn.Module):
    """A model of ids whose parameter has a name."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids)


def llama_of_any_length() -> Case:
    """A block of Llama on 2 to 64 tokens."""
    model, (ids,) = llama(16, 1, vocabulary=256)
    calls = [(ids,), *((torch.randint(0, 256, (1, length)),) for length in (5, 64, 2))]
    return Case(Ids(model), calls, ({1: torch.export.Dim("length", min=2, max=64)},))


def images_of_any_number() -> Case:
    """MobileNetV3 on 1 to 5 images of 32 to 64 pixels a side."""
    case = mobilenet_v3()
    shapes = ((2, 64, 64), (5, 32, 48), (1, 48, 32), (3, 64, 64))
    calls = [(torch.rand(batch, 3, height, width),) for batch, height, width in shapes]
    sizes = {0: torch.export.Dim("batch", min=1, max=5)} | {dim: 16 * torch.export.Dim(f"side_{dim}", min=2, max=4) for dim in (2, 3)}
    return Case(case.module, calls, (sizes,))


class Rows(nn.Module):
    """What may be done to vectors of which the run decides how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.planes = nn.LayerNorm(8), nn.LayerNorm([3, 8])
        self.conv = nn.Conv1d(3, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.planes(self.norm(x) * x.mean(-1, keepdim=True)) + x.sum(-1, keepdim=True) - x.mean((1, 2), keepdim=True)
        first, second = torch.split(y, [2, 1], 1)
        z = torch.stack([first[:, 1], second.squeeze(1), y[:, 0]], 1) + second.expand(-1, 3, 8)
        z = torch.softmax(z @ z.transpose(1, 2) / 8, -1) @ self.conv(z)
        return F.pad(torch.cat([z, x], 0), (0, 0, 0, 0, 1, 2)).clamp(-2, 2) ** 3


def rows_of_any_number() -> Case:
    """Vectors in planes of three."""
    calls = [(torch.randn(planes, 3, 8),) for planes in (4, 1, 9)]
    shapes = ({0: torch.export.Dim("planes", min=1, max=9)},)
    return Case(Rows().eval(), calls, shapes, is_dynamic_in_executorch=False)


CASES: dict[str, Callable[[], Case]] = {
    "mobilenet_v2": lambda: _case(mobilenet_v2(32)),
    "mobilenet_v3": mobilenet_v3,
    "mobilenet_v3, images of any number": images_of_any_number,
    "resnet18": lambda: _case(resnet18(32, width=16)),
    "ds_cnn": ds_cnn,
    "deit_tiny": lambda: _case(deit_tiny(32, 1)),
    "gpt2": lambda: _case(gpt2(16, 1, vocabulary=256)),
    "llama": lambda: _case(llama(16, 1, vocabulary=256)),
    "llama of any length": llama_of_any_length,
    "rows of any number": rows_of_any_number,
    "lstm_classifier": lambda: _case(lstm_classifier(8)),
    "minilm": lambda: _case(minilm(16, 1, vocabulary=256)),
}

HALF_CASES: dict[str, Callable[[], Case]] = {
    "mobilenet_v3, float16": lambda: halves(mobilenet_v3()),
    "norm, float16": lambda: halves(Case(RootMeanSquare(32), [(torch.randn(3, 5, 32),)])),
}
"""Models in float16, for a backend that takes it."""

TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 4e-3}
"""The largest difference from PyTorch, in units of the largest value: in float16, some steps of its precision."""


@dataclass
class Journey:
    """A model on its way through a backend, and what PyTorch makes of each call."""

    name: str
    backend: str
    case: Case
    expected: list[Any]
    edge: EdgeProgramManager
    program: bytes

    def check(self, run: Callable[[Tensors], Any]) -> None:
        """Compares what something makes of each call."""
        for call, expected in zip(self.case.calls, self.expected, strict=True):
            found = np.asarray(run(call)[0])
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            wide, right = found.astype(np.float64), expected.astype(np.float64)
            assert np.abs(wide - right).max() <= TOLERANCE[expected.dtype] * np.abs(right).max()

    def check_by_numpy(self) -> None:
        """Runs the converted partitions and the decoded payloads."""
        converted = self.edge.transform(f"partition{{backends={self.backend}}},convert-partitions,cse")
        interpreted = interpret(converted.module, converted.context)
        self.check(lambda call: interpreted.run("forward", arrays(call)))
        context = FlambeauContext()
        decoded = interpret(read_pte(self.program, context), context, run_payload)
        self.check(lambda call: decoded.run("forward", arrays(call)))


def arrays(call: Tensors) -> list[Any]:
    """The inputs of a call for engines without torch."""
    return [tensor.numpy() for tensor in call]


def start_journey(name: str, backend: str) -> Journey:
    """Compiles a model for a backend."""
    free_memory()
    cast(Any, torch).manual_seed(0)
    case = (CASES | HALF_CASES)[name]()
    with torch.no_grad():
        expected = [case.module(*call).numpy() for call in case.calls]
    edge = to_edge(case.export())
    return Journey(name, backend, case, expected, edge, bytes(edge.to_backend(backend).to_executorch().buffer))


# For processors of integers: whole models, which campaigns run, and small ones of the same operators.


class FirstStages(MobileNetV2):
    """MobileNetV2's blocks, each kind at least once."""

    STAGES = MobileNetV2.STAGES[:3]


class UNet(nn.Module):
    """Two scales of an image, one of them enlarged by a transposed convolution, one by copies of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1)
        self.up, self.mixed, self.last = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(32, 8, 3, 1, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Two classes for each pixel."""
        first = torch.relu(self.first(x))
        second = torch.relu(self.second(first))
        third = torch.relu(self.third(second))
        second = torch.relu(self.mixed(torch.cat([torch.relu(self.up(third)), second], 1)))
        return self.last(torch.cat([nn.functional.interpolate(second, scale_factor=2.0), first], 1))


class Letters(nn.Module):
    """Convolutions along time, as wav2letter has them."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [(40, 64, 11, 2), (64, 64, 11, 1), (64, 96, 7, 1), (96, 29, 1, 1)]
        self.layers = nn.ModuleList(nn.Conv1d(a, b, kernel, step, kernel // 2) for a, b, kernel, step in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """The letters [N, 29, T / 2] of features [N, 40, T]."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class Words(nn.Module):
    """MiniLM's encoder, on embedded words without padding."""

    def __init__(self, size: int, heads: int, layers: int) -> None:
        super().__init__()
        from transformers import BertConfig
        from transformers.models.bert.modeling_bert import BertEncoder

        numbers = {"hidden_size": size, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": 4 * size}
        self.encoder: Any = cast(Any, BertEncoder)(cast(Any, BertConfig)(**numbers, attn_implementation="sdpa"))

    def forward(self, x: Tensor) -> Tensor:
        """The states of words."""
        return self.encoder(x, return_dict=True).last_hidden_state


class Cell(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(size, size)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """The next state."""
        return self.cell(x, hidden)


def _of(case: Case) -> Floats:
    return case.module, case.calls[0]


WHOLE: Mapping[str, Callable[[], Floats]] = {
    "mobilenet_v2": lambda: mobilenet_v2(224),
    "mobilenet_v3": lambda: _of(mobilenet_v3()),
    "resnet18": lambda: resnet18(224),
    "ds_cnn": lambda: _of(ds_cnn()),
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 64, 64),)),
    "minilm": lambda: (Words(384, 12, 6), (torch.randn(1, 128, 384),)),
    "gru": lambda: (Cell(128), (torch.randn(1, 128), torch.randn(1, 128).tanh())),
    "wav2letter": lambda: (Letters(), (torch.randn(1, 40, 64),)),
}
SMALL: Mapping[str, Callable[[], Floats]] = {
    **WHOLE,
    "mobilenet_v2": lambda: (FirstStages(), (torch.randn(1, 3, 32, 32),)),
    "resnet18": lambda: resnet18(32, width=16),
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 8, 8),)),
    "minilm": lambda: (Words(24, 2, 1), (torch.randn(1, 8, 24),)),
    "gru": lambda: (Cell(8), (torch.randn(8, 8), torch.randn(8, 8).tanh())),
    "wav2letter": lambda: (Letters(), (torch.randn(1, 40, 12),)),
}


# Models that keep something from call to call, and those that campaigns alone run.

HEADS, LENGTH, SIZE = 2, 8, 4
"""The heads of `Step`, the places of its state, and the numbers of a head at each."""


class Step(nn.Module):
    """A step of attention, whose keys and values of all steps are state."""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        width = HEADS * SIZE
        self.words, self.qkv, self.out = nn.Embedding(16, width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.RMSNorm(width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, LENGTH, SIZE))

    def forward(self, token: Tensor, place: Tensor, hidden: Tensor) -> Tensor:
        """What follows a token at a place; `hidden` is -inf for the places behind it."""
        x = self.words(token)
        q, k, v = (part.reshape(1, 1, HEADS, SIZE).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        weights = torch.softmax(q @ self.keys.transpose(-1, -2) / SIZE**0.5 + hidden, -1)
        return x + self.out((weights @ self.values).transpose(1, 2).reshape(1, 1, -1))


def inputs_of_step(step: int) -> tuple[Tensor, Tensor, Tensor]:
    """What `Step` is called with."""
    hidden = torch.tensor([0.0 if place <= step else -torch.inf for place in range(LENGTH)]).reshape(1, 1, 1, LENGTH)
    return torch.tensor([[3 * step % 16]]), torch.tensor([step]), hidden


class LlamaBlock(nn.Module):
    """A block of a language model for one token at a time, whose keys and values of all tokens are state."""

    keys: Tensor
    values: Tensor
    cosines: Tensor
    sines: Tensor

    def __init__(self, width: int = 256, heads: int = 4, shared: int = 2, places: int = 32) -> None:
        super().__init__()
        self.heads, self.shared, self.size, hidden = heads, shared, width // heads, 3 * width
        self.norm, self.next_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * shared * self.size, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        angles = torch.outer(torch.arange(places), 10000.0 ** -(torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, shared, places, self.size))

    def turned(self, x: Tensor, place: Tensor) -> Tensor:
        """Queries or keys, turned by the angles of a place."""
        cosine, sine = F.embedding(place, self.cosines), F.embedding(place, self.sines)
        first, second = x.chunk(2, -1)
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)

    def forward(self, x: Tensor, place: Tensor, hidden: Tensor) -> Tensor:
        """The features of a token at a place; `hidden` is -inf for the places behind it."""
        normed = self.norm(x)
        keys, values = (part.reshape(1, 1, self.shared, self.size).transpose(1, 2) for part in self.kv(normed).chunk(2, -1))
        self.keys.index_copy_(2, place, self.turned(keys, place))
        self.values.index_copy_(2, place, values)
        queries = self.turned(self.q(normed).reshape(1, self.shared, self.heads // self.shared, self.size), place)
        weights = torch.softmax(queries @ self.keys.transpose(-1, -2) / self.size**0.5 + hidden, -1)
        x = x + self.out((weights @ self.values).reshape(1, 1, -1))
        normed = self.next_norm(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


def llama_block(steps: int = 6) -> Case:
    """A `LlamaBlock`, and tokens one after the other."""
    block = LlamaBlock().eval()
    width, places = block.q.in_features, block.keys.shape[2]
    hidden = [torch.full((1, 1, 1, places), -torch.inf).masked_fill(torch.arange(places) <= step, 0.0) for step in range(steps)]
    return Case(block, [(torch.randn(1, 1, width), torch.tensor([step]), hidden[step]) for step in range(steps)])


class Audio(nn.Module):
    """The encoder of a Whisper-tiny of random weights."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import WhisperConfig
        from transformers.models.whisper.modeling_whisper import WhisperEncoder

        sizes: dict[str, Any] = {
            "d_model": 384,
            "encoder_layers": 4,
            "encoder_attention_heads": 6,
            "encoder_ffn_dim": 1536,
            "attn_implementation": "sdpa",
        }
        self.encoder: Any = WhisperEncoder(WhisperConfig(**sizes))

    def forward(self, features: Tensor) -> Tensor:
        """The hidden states of 30 seconds."""
        return self.encoder(features).last_hidden_state


CAMPAIGN: Mapping[str, Callable[[], Floats]] = {
    **WHOLE,
    "minilm_ids": minilm,
    "deit_tiny": deit_tiny,
    "whisper_encoder": lambda: (Audio(), (torch.randn(1, 80, 3000),)),
    "gpt2": gpt2,
    "llama": llama,
}
