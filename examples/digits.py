"""A small CNN that is trained in seconds, with a fixed seed, on scikit-learn's 1,797 handwritten digits.

A quarter of them is held out: the accuracy on it is the task metric, and no other number is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SEED = 7
EPOCHS = 30


class DigitsNet(nn.Module):
    """Two convolutions and a linear layer: float32 [batch, 1, 8, 8] to logits float32 [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(32 * 4 * 4, 10)

    def forward(self, image: Tensor) -> Tensor:
        """`image` float32 [batch, 1, 8, 8], values 0 to 1; returns logits float32 [batch, 10]."""
        return self.classifier(self.features(image).flatten(1))  # type: ignore[no-any-return]  # nn.Module is untyped


@cache
def data() -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Training images and labels, held-out images and labels; images float32 [n, 1, 8, 8] in 0 to 1."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_out, train = order[: len(images) // 4], order[len(images) // 4 :]
    return images[train], labels[train], images[held_out], labels[held_out]


def load() -> nn.Module:
    """Train the network; the same weights every time on the same machine."""
    images, labels = (torch.from_numpy(array) for array in data()[:2])
    with torch.random.fork_rng(), torch.inference_mode(mode=False), torch.enable_grad():
        torch.manual_seed(SEED)
        net = DigitsNet()
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(images)).chunk(len(images) // 64):
                optimizer.zero_grad()
                nn.functional.cross_entropy(net(images[batch]), labels[batch]).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimizer.step()
    return net.eval()


def samples() -> Iterator[dict[str, NDArray[np.float32]]]:
    """Training images, one a sample: calibration must not see the held-out set."""
    for image in data()[0]:
        yield {"image": image[None]}


def score(predict: Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]]]) -> float:
    """Accuracy on the held-out set, 0 to 1."""
    _, _, images, labels = data()
    guesses = [
        predict({"image": images[start : start + 64]})["logits"].argmax(1) for start in range(0, len(images), 64)
    ]
    return float((np.concatenate(guesses) == labels).mean())


def reference(inputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """What PyTorch computes for one request, logits float32 [batch, 10]; served answers are compared with it."""
    with torch.inference_mode():
        result: NDArray[Any] = _loaded()(torch.from_numpy(inputs["image"])).numpy()
    return result


@cache
def _loaded() -> nn.Module:
    return load()
