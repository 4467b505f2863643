"""Language models of Hugging Face with random weights, as two methods of one program: `prefill` takes a prompt, `decode` one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch.export import Dim, ExportedProgram
from transformers.cache_utils import StaticCache, StaticLayer

FAMILIES = ("llama", "qwen3", "mistral")


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model."""

    layers: int = 8
    hidden: int = 512
    heads: int = 8
    key_heads: int = 2
    head_size: int = 64
    intermediate: int = 1408
    vocabulary: int = 8192
    context: int = 512
    """The number of tokens that the cache holds."""
    prompt: int = 256
    """The greatest number of tokens that `prefill` takes at once."""


def make_model(family: str, sizes: Sizes, window: int | None = None) -> Any:
    """Returns a model of transformers with random weights; with `window`, tokens see that many tokens (in Qwen3 in every second layer)."""
    windows: dict[str, Any] = {"sliding_window": window}
    if family == "qwen3" and window is not None:
        windows |= {
            "use_sliding_window": True,
            "layer_types": [("full_attention", "sliding_attention")[i % 2] for i in range(sizes.layers)],
        }
    elif family == "llama" and window is not None:
        raise ValueError("models of Llama have no sliding window; those of Mistral are the same with one")
    loader: Any = transformers
    config = loader.AutoConfig.for_model(
        family,
        num_hidden_layers=sizes.layers,
        hidden_size=sizes.hidden,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_heads,
        head_dim=sizes.head_size,
        intermediate_size=sizes.intermediate,
        vocab_size=sizes.vocabulary,
        max_position_embeddings=sizes.context,
        initializer_range=0.1,  # so that the most likely token varies
        **windows,
    )
    return loader.AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)


class CachedModel(torch.nn.Module):
    """A causal language model of transformers with its static cache, whose keys and values are buffers.

    It takes the inputs of ExecuTorch's runner: token ids, [1, tokens], and the position of the first one, [1]. It returns the logits
    after the last token, [1, vocabulary].
    """

    def __init__(self, model: Any, context: int):
        super().__init__()
        self.model = model
        config = model.config
        self._cache: Any = StaticCache(config=config, max_cache_len=context)
        # transformers' cache layer for a sliding window moves its entries; in a layer that keeps all entries, the mask makes the window.
        self._cache.layers = [StaticLayer(context) for _ in self._cache.layers]
        self._cache.early_initialization(1, config.num_key_value_heads, config.head_dim, model.dtype, model.device)
        for number, layer in enumerate(self._cache.layers):
            self.register_buffer(f"keys_{number}", layer.keys)
            self.register_buffer(f"values_{number}", layer.values)

    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Adds the tokens to the cache, and returns the logits after the last one."""
        for number, layer in enumerate(self._cache.layers):
            layer.keys, layer.values = getattr(self, f"keys_{number}"), getattr(self, f"values_{number}")
            layer.cumulative_length = position[0].clone()
        return self.model(tokens, past_key_values=self._cache, logits_to_keep=1).logits[:, -1]


def export_methods(model: Any, sizes: Sizes) -> dict[str, ExportedProgram]:
    """Returns the methods of a program, which share the weights and the cache."""
    module = CachedModel(model, sizes.context)
    position = torch.tensor([0])
    lengths = {1: Dim("tokens", min=2, max=sizes.prompt)}
    with torch.no_grad():
        prompt = torch.ones(1, min(8, sizes.prompt), dtype=torch.int64)
        prefill = torch.export.export(module, (prompt, position), dynamic_shapes=(lengths, None), strict=False)
        decode = torch.export.export(module, (prompt[:, :1], position), strict=False)
    return {"prefill": prefill, "decode": decode}


def constant_methods(sizes: Sizes, ends: list[int]) -> dict[str, object]:
    """Returns the values that ExecuTorch's runner reads from a program, by their names."""
    return {
        "get_max_seq_len": sizes.prompt,
        "get_max_context_len": sizes.context,
        "get_vocab_size": sizes.vocabulary,
        "get_n_layers": sizes.layers,
        "get_eos_ids": ends,
        "use_kv_cache": True,
        "enable_dynamic_shape": True,
    }


def greedy_tokens(model: Any, prompt: list[int], count: int) -> list[int]:
    """Returns `count` tokens that the model generates in PyTorch, with the cache of transformers."""
    with torch.no_grad():
        result = model.generate(
            torch.tensor([prompt]), max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0, eos_token_id=None
        )
    return result[0, len(prompt) :].tolist()
