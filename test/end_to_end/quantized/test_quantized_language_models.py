"""Language in integers: sentences stay as near to each other as in floats, and a decoder is as sure of the next letter."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from quantized_programs import tensor_of
from torch import Tensor, nn
from torch_programs import seed

import flambeau
from flambeau.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "examples" / "minilm" / "corpus.txt"
WINDOW = 48
F = nn.functional


class Decoder(nn.Module):
    """A decoder of bytes: two blocks of causal attention and a feed-forward network each."""

    def __init__(self, width: int = 64, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.letters, self.places = nn.Embedding(128, width), nn.Embedding(WINDOW, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "first": nn.LayerNorm(width),
                    "attention": nn.Linear(width, 3 * width),
                    "joined": nn.Linear(width, width),
                    "second": nn.LayerNorm(width),
                    "wide": nn.Linear(width, 4 * width),
                    "narrow": nn.Linear(4 * width, width),
                }
            )
            for _ in range(2)
        )
        self.last = nn.Linear(width, 128)

    def forward(self, letters: Tensor) -> Tensor:
        """The scores of what follows each letter, [batch, WINDOW, 128]."""
        x = self.letters(letters) + self.places.weight
        for block in self.blocks:
            assert isinstance(block, nn.ModuleDict)
            parts = block["attention"](block["first"](x)).chunk(3, -1)
            query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
            x = x + block["joined"](F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2))
            x = x + block["narrow"](F.gelu(block["wide"](block["second"](x))))
        return self.last(x)


@cache
def windows() -> Tensor:
    """The corpus, cut into overlapping windows of one letter more than the decoder reads."""
    letters = torch.tensor([min(item, 127) for item in CORPUS.read_bytes()])
    return letters.unfold(0, WINDOW + 1, 7)


@cache
def trained_decoder() -> nn.Module:
    seed()
    model, cut = Decoder(), windows()
    optimizer: Any = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(120):
        batch = cut[torch.arange(step % 4, len(cut), 4)]
        optimizer.zero_grad()
        loss: Any = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    return model.eval()


def method_of(program: torch.export.ExportedProgram) -> Any:
    config = flambeau.EdgeCompileConfig(target="flambeau")
    return Runtime.get().load_program(bytes(flambeau.to_edge(program, compile_config=config).to_executorch().buffer)).load_method("forward")


def test_a_decoder_of_8_bit_weights_is_as_sure_of_what_follows():
    model, cut = trained_decoder(), windows()[:40]
    with torch.no_grad():
        expected = torch.exp(F.cross_entropy(model(cut[:, :-1]).flatten(0, 1), cut[:, 1:].flatten())).item()
    # It has learnt: letters drawn at random would be 1 of 128.
    assert expected < 8
    method = method_of(flambeau.quantize((model, (cut[:1, :-1],)), None, "w8").program)
    losses = [F.cross_entropy(tensor_of(np.array(method.execute([row[None, :-1].numpy()])[0]))[0], row[1:]).item() for row in cut]
    assert abs(np.exp(np.mean(losses)) / expected - 1) < 0.01


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def test_sentences_are_as_near_to_each_other_as_in_floats(monkeypatch: Any):
    """Of all pairs of the demo's sentences, with the trained weights of all-MiniLM-L6-v2."""
    monkeypatch.syspath_prepend(str(CORPUS.parent))
    sys.modules.pop("encoder", None)
    encoder: Any = importlib.import_module("encoder")
    model, tokenizer = encoder.load_encoder(), encoder.load_tokenizer()
    sentences = [encoder.tokenize(tokenizer, line) for line in CORPUS.read_text().splitlines() if line]
    with torch.no_grad():
        floats = np.concatenate([model(*tokens).numpy() for tokens in sentences])
    method = method_of(flambeau.quantize((model, sentences[0]), None, "int8-dynamic").program)
    integers = np.concatenate([np.array(method.execute([item.numpy() for item in tokens])[0]) for tokens in sentences])
    pairs = np.triu_indices(len(sentences), 1)
    vectors: list[np.ndarray] = [floats, integers]
    orders = [ranks((item @ item.T)[pairs]) for item in vectors]
    assert np.corrcoef(orders)[0, 1] >= 0.99
