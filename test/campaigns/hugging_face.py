"""Tiny models of Hugging Face with random weights, exported, compiled to a `.pte`, run by the C runtime, and compared with eager.

    PYTHONPATH=test python test/campaigns/hugging_face.py [model type …] [--static] [--target executorch] [--jobs 2]

The batch and, for texts, the length are dynamic, but for `--static`. It prints a line for each model, then the counts and the reasons. It
returns 1 if a result is wrong.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import transformers
from campaigns.model_outcomes import Case, main
from torch.export import Dim

models: Any = transformers

_TINY: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
    "max_position_embeddings": 128,
    "use_cache": False,
}
_GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
_IMAGE = {"image_size": 32, "patch_size": 8}

TEXTS: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 16},
    "bert": {},
    "bert-generation": {},
    "biogpt": {},
    "bloom": {"n_layer": 2, "n_head": 4},
    "camembert": {},
    "codegen": {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 128},
    "cohere": _GROUPED,
    "cohere2": _GROUPED,
    "convbert": {"embedding_size": 32},
    "ctrl": {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 64, "n_positions": 128},
    "data2vec-text": {},
    "deberta": {},
    "deberta-v2": {},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "electra": {"embedding_size": 16},
    "ernie": {},
    "ernie4_5": _GROUPED,
    "esm": {"pad_token_id": 1, "mask_token_id": 2},
    "falcon": {},
    "fnet": {},
    "gemma": _GROUPED,
    "gemma2": _GROUPED,
    "gemma3_text": _GROUPED,
    "glm": {**_GROUPED, "pad_token_id": 0},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "gpt_bigcode": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "gpt_neo": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
    "gpt_neox": {},
    "gptj": {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 128},
    "granite": _GROUPED,
    "ibert": {},
    "layoutlm": {},
    "llama": _GROUPED,
    "megatron-bert": {},
    "mistral": _GROUPED,
    "mobilebert": {"embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32},
    "modernbert": {"pad_token_id": 0},
    "mpnet": {},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2},
    "nemotron": _GROUPED,
    "nystromformer": {},
    "olmo": _GROUPED,
    "olmo2": _GROUPED,
    "olmo3": {**_GROUPED, "pad_token_id": 0},
    "openai-gpt": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "persimmon": {},
    "phi": {},
    "phi3": {**_GROUPED, "pad_token_id": 0},
    "qwen2": _GROUPED,
    "qwen3": _GROUPED,
    "rembert": {"input_embedding_size": 16, "output_embedding_size": 16},
    "roberta": {},
    "roformer": {"embedding_size": 32},
    "smollm3": {**_GROUPED, "pad_token_id": 0},
    "squeezebert": {"embedding_size": 32},
    "stablelm": {"num_key_value_heads": 4},
    "starcoder2": _GROUPED,
    "xglm": {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64},
    "xlm-roberta": {},
    "xmod": {"languages": ["en"], "default_language": "en"},
    "yoso": {},
}
IMAGES: dict[str, dict[str, Any]] = {
    "beit": _IMAGE,
    "bit": {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 16, "num_groups": 4},
    "convnext": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "convnextv2": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "data2vec-vision": _IMAGE,
    "deit": _IMAGE,
    "dinov2": _IMAGE,
    "efficientnet": {"image_size": 32},
    "focalnet": {
        "image_size": 32,
        "embed_dim": 16,
        "depths": [1, 1],
        "hidden_sizes": [16, 32],
        "focal_levels": [1, 1],
        "focal_windows": [3, 3],
    },
    "levit": {"image_size": 64, "depths": [1, 1, 1]},
    "mobilenet_v1": {"image_size": 32},
    "mobilenet_v2": {"image_size": 32},
    "poolformer": {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1]},
    "pvt_v2": {"image_size": 32, "hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 2]},
    "regnet": {"hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8, "embedding_size": 16},
    "resnet": {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 16},
    "segformer": {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 2]},
    "swin": {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
    "swinv2": {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
    "vit": _IMAGE,
    "vit_msn": _IMAGE,
    "yolos": {"image_size": [32, 32], "patch_size": 8},
}


class _First(torch.nn.Module):
    """A model whose output is the first of its outputs."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, given: torch.Tensor) -> Any:
        """The first output."""
        return self.model(given, return_dict=False)[0]


def make(name: str, dynamic: bool) -> Case:
    """A model of a type."""
    is_text = name in TEXTS
    own = (TEXTS | IMAGES)[name]
    given = own if "depths" in own else {**_TINY, **own}
    config = models.AutoConfig.for_model(name, **given)
    side = given.get("image_size", 32)
    size = (side, side) if isinstance(side, int) else tuple(side)
    shapes = [(3, 10), (2, 7), (5, 64)] if is_text else [(count, 3, *size) for count in (3, 2, 5)]
    inputs = [torch.randint(3, 99, shape) if is_text else torch.randn(shape) for shape in (shapes if dynamic else shapes[:1])]
    dims = {0: Dim.DYNAMIC(max=8), **({1: Dim.DYNAMIC(max=64)} if is_text else {})}
    return Case(_First(models.AutoModel.from_config(config).eval()), inputs, dims if dynamic else None)


if __name__ == "__main__":
    sys.exit(main("campaigns.hugging_face", __doc__, [*TEXTS, *IMAGES], sys.argv[1:]))
