"""scikit-learn's digits, and a small network that is trained on them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from models import DigitsCNN
from sklearn.datasets import load_digits

TRAINING = 1200
"""The first digits are for training, the rest for the test."""


@cache
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """All images and their labels."""
    load: Any = load_digits
    data: Any = load()
    images = torch.as_tensor((data.images / 16).astype(np.float32)).unsqueeze(1)
    return images, torch.as_tensor(data.target.astype(np.int64))


@cache
def trained_cnn() -> torch.nn.Module:
    """The network, trained with a fixed seed."""
    images, labels = (item[:TRAINING] for item in digits())
    # PyTorch leaves much of what training uses without types.
    untyped: Any = torch
    with untyped.random.fork_rng():
        untyped.manual_seed(0)
        model = DigitsCNN()
        optimizer: Any = torch.optim.Adam(model.parameters(), lr=2e-3)
        model.train()
        for _ in range(15):
            for batch in untyped.randperm(TRAINING).split(50):
                optimizer.zero_grad()
                loss: Any = torch.nn.functional.cross_entropy(model(images[batch]), labels[batch])
                loss.backward()
                optimizer.step()
    return model.eval().requires_grad_(False)
