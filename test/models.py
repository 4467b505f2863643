"""The models of the end-to-end tests: `factory() -> (module, example_inputs)`, in evaluation mode, with seeded random weights.

Architectures from `transformers` come from their configurations; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor, nn

Model: TypeAlias = tuple[nn.Module, tuple[Tensor, ...]]

SEED = 0


def _seed() -> None:
    cast(Any, torch).manual_seed(SEED)


def _finish(module: nn.Module, *inputs: Tensor) -> Model:
    """Evaluation mode, and batch-norm statistics as training leaves them: not the identity."""
    for child in module.modules():
        if isinstance(child, nn.BatchNorm2d) and child.running_mean is not None and child.running_var is not None:
            child.running_mean.normal_(0, 0.1)
            child.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(child.weight, 0.8, 1.2)
            nn.init.normal_(child.bias, 0, 0.1)
    return module.eval().requires_grad_(False), inputs


# --- convolutional networks


class ConvNorm(nn.Sequential):
    """Convolution, batch norm and perhaps an activation."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1, activation: nn.Module | None = None):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
            *([] if activation is None else [activation]),
        )


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, project; added to the input where the shapes agree."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion != 1:
            layers.append(ConvNorm(inputs, hidden, 1, activation=nn.ReLU6(inplace=True)))
        layers.append(ConvNorm(hidden, hidden, 3, stride, hidden, nn.ReLU6(inplace=True)))
        layers.append(ConvNorm(hidden, outputs, 1))
        self.body = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 at width 1 (Sandler et al. 2018)."""

    STEM = 32
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, classes: int = 1000):
        super().__init__()
        channels = self.STEM
        layers: list[nn.Module] = [ConvNorm(3, channels, 3, 2, activation=nn.ReLU6(inplace=True))]
        for expansion, outputs, count, stride in self.STAGES:
            for index in range(count):
                layers.append(InvertedResidual(channels, outputs, stride if index == 0 else 1, expansion))
                channels = outputs
        layers.append(ConvNorm(channels, 1280, 1, activation=nn.ReLU6(inplace=True)))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class NarrowMobileNetV2(MobileNetV2):
    """MobileNetV2 at width 0.35, as microcontrollers run it."""

    STEM = 16
    STAGES = ((1, 8, 1, 1), (6, 8, 2, 2), (6, 16, 3, 2), (6, 24, 4, 2), (6, 32, 3, 1), (6, 56, 3, 2), (6, 112, 1, 1))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = ConvNorm(inputs, outputs, 3, stride, activation=nn.ReLU(inplace=True))
        self.second = ConvNorm(outputs, outputs, 3)
        self.shortcut = ConvNorm(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(self.first(x))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """ResNet-18 (He et al. 2015)."""

    def __init__(self, width: int = 64, classes: int = 1000):
        super().__init__()
        blocks: list[nn.Module] = []
        channels = width
        for outputs, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
            blocks += [BasicBlock(channels, outputs, stride), BasicBlock(outputs, outputs, 1)]
            channels = outputs
        self.stem = nn.Sequential(ConvNorm(3, width, 7, 2, activation=nn.ReLU(inplace=True)), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class DigitsCNN(nn.Module):
    """A small CNN for scikit-learn's 8x8 digits: input [N, 1, 8, 8], output [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.25),
            nn.Linear(32 * 16, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def mobilenet_v2(size: int = 224) -> Model:
    _seed()
    return _finish(MobileNetV2(), torch.randn(1, 3, size, size))


def narrow_mobilenet_v2(size: int = 96, classes: int = 2) -> Model:
    _seed()
    return _finish(NarrowMobileNetV2(classes), torch.randn(1, 3, size, size))


def resnet18(size: int = 224, width: int = 64) -> Model:
    _seed()
    return _finish(ResNet18(width), torch.randn(1, 3, size, size))


def digits_cnn(batch: int = 1) -> Model:
    _seed()
    return _finish(DigitsCNN(), torch.rand(batch, 1, 8, 8))


# --- transformers


class _Output(nn.Module):
    """A model of `transformers` as tensors in, one tensor out."""

    def __init__(self, model: nn.Module, inputs: tuple[str, ...], output: str, **fixed: Any):
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.output = output
        self.fixed = fixed

    def forward(self, *tensors: Tensor) -> Tensor:
        return getattr(self.model(**dict(zip(self.inputs, tensors, strict=True)), **self.fixed), self.output)


class SentenceEncoder(nn.Module):
    """A BERT encoder with mean pooling over the mask and normalisation: token ids and mask [N, T] to embeddings [N, C] of length 1."""

    def __init__(self, encoder: nn.Module):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=1)


def _ids(vocabulary: int, length: int) -> Tensor:
    return torch.randint(0, vocabulary, (1, length))


def minilm(length: int = 128, layers: int = 6, vocabulary: int = 30522) -> Model:
    """all-MiniLM-L6-v2's architecture; the second half of the last quarter of the tokens is padding."""
    from transformers import BertConfig, BertModel

    _seed()
    config = cast(Any, BertConfig)(
        vocab_size=vocabulary,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        attn_implementation="sdpa",
    )
    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, length - length // 8 :] = 0
    encoder = cast(nn.Module, BertModel(config, add_pooling_layer=False))
    return _finish(SentenceEncoder(encoder), _ids(config.vocab_size, length), mask)


def deit_tiny(size: int = 224, layers: int = 12) -> Model:
    from transformers import DeiTConfig, DeiTForImageClassificationWithTeacher

    _seed()
    config = cast(Any, DeiTConfig)(
        hidden_size=192,
        num_hidden_layers=layers,
        num_attention_heads=3,
        intermediate_size=768,
        image_size=size,
        num_labels=1000,
        attn_implementation="sdpa",
    )
    model = cast(nn.Module, DeiTForImageClassificationWithTeacher(config))
    return _finish(_Output(model, ("pixel_values",), "logits"), torch.randn(1, 3, size, size))


def gpt2(length: int = 64, layers: int = 2, vocabulary: int = 50257, width: int = 768) -> Model:
    from transformers import GPT2Config, GPT2LMHeadModel

    _seed()
    config = cast(Any, GPT2Config)(n_layer=layers, n_embd=width, vocab_size=vocabulary, attn_implementation="sdpa")
    model = cast(nn.Module, GPT2LMHeadModel(config))
    return _finish(_Output(model, ("input_ids",), "logits", use_cache=False), _ids(config.vocab_size, length))


def llama(length: int = 64, layers: int = 2, vocabulary: int = 4096) -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM

    _seed()
    config = cast(Any, LlamaConfig)(
        vocab_size=vocabulary,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=512,
        attn_implementation="sdpa",
    )
    model = cast(nn.Module, LlamaForCausalLM(config))
    return _finish(_Output(model, ("input_ids",), "logits", use_cache=False), _ids(config.vocab_size, length))


# --- recurrent networks


class LSTMClassifier(nn.Module):
    """Token ids [N, T] to class scores [N, C], from the last state."""

    def __init__(self, vocabulary: int = 1000, embedding: int = 64, hidden: int = 128, classes: int = 4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, classes)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(ids))
        return self.linear(states[:, -1])


def lstm_classifier(length: int = 16) -> Model:
    _seed()
    return _finish(LSTMClassifier(), _ids(1000, length))


MODELS: dict[str, Callable[[], Model]] = {
    "minilm": minilm,
    "mobilenet_v2": mobilenet_v2,
    "resnet18": resnet18,
    "deit_tiny": deit_tiny,
    "gpt2": gpt2,
    "llama": llama,
    "lstm_classifier": lstm_classifier,
    "digits_cnn": digits_cnn,
}

SMALLER: dict[str, Callable[[], Model]] = MODELS | {
    "minilm": lambda: minilm(layers=2, vocabulary=2048),
    "mobilenet_v2": lambda: mobilenet_v2(128),
    "resnet18": lambda: resnet18(64, width=32),
    "deit_tiny": lambda: deit_tiny(64, layers=4),
    "gpt2": lambda: gpt2(vocabulary=2048, width=384),
    "llama": lambda: llama(vocabulary=512),
}
"""Images small enough for stock ExecuTorch's portable convolution, and weights that leave room; the benchmarks take them at full size."""
