"""Models and samples that tests name as a user's code would be named: good ones, and each kind of bad one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class Mlp(nn.Module):
    """float32 [batch, 3] to [batch, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def linear(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.layer.weight, self.layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x))


class NamedOutputs(Mlp):
    """Returns a mapping, with one output more than some specs want."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:  # type: ignore[override]  # another result on purpose
        y = self.linear(x)
        return {"hidden": y, "y": torch.tanh(y)}


class CollidingName(Mlp):
    """Its parameter is called as the output wants to be: `y`."""

    def __init__(self) -> None:
        super().__init__()
        self.y = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.y


class ValueDependent(Mlp):
    """Branches on a value."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return self.linear(x)
        return -self.linear(x)


class FixedSize(Mlp):
    """Fixes the batch while tracing."""

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.reshape(2, 3))


class ReducesOverTheBatch(Mlp):
    """Rows influence each other."""

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) - self.linear(x).mean(0)


class RandomNoise(Mlp):
    """Gives another answer each time."""

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + torch.rand_like(x[:, :2])


class RaisesInForward(Mlp):
    """Has a bug."""

    def forward(self, x: Tensor) -> Tensor:  # noqa: ARG002  # it fails before it looks
        raise RuntimeError("forward is broken")


def _seeded(cls: type[nn.Module]) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return cls()


def mlp() -> nn.Module:
    return _seeded(Mlp)


def named_outputs() -> nn.Module:
    return _seeded(NamedOutputs)


def colliding_name() -> nn.Module:
    return _seeded(CollidingName)


def value_dependent() -> nn.Module:
    return _seeded(ValueDependent)


def fixed_size() -> nn.Module:
    return _seeded(FixedSize)


def reduces_over_the_batch() -> nn.Module:
    return _seeded(ReducesOverTheBatch)


def random_noise() -> nn.Module:
    return _seeded(RandomNoise)


def raises_in_forward() -> nn.Module:
    return _seeded(RaisesInForward)


def raising_factory() -> nn.Module:
    raise FileNotFoundError("weights.pt is not there")


def not_a_module() -> int:
    return 3


def endless_samples() -> Iterator[dict[str, NDArray[np.float32]]]:
    index = 0
    while True:
        yield {"x": np.full((1, 3), index, np.float32)}
        index += 1


def few_samples() -> list[dict[str, NDArray[np.float32]]]:
    return [{"x": np.full((1, 3), index / 10, np.float32)} for index in range(5)]


def wrong_dtype_samples() -> list[dict[str, NDArray[np.float64]]]:
    return [{"x": np.zeros((1, 3))}]


def no_samples() -> list[dict[str, NDArray[np.float32]]]:
    return []


def not_iterable() -> int:
    return 3


def raising_samples() -> list[dict[str, NDArray[np.float32]]]:
    raise ValueError("no data today")


def mean_output(predict: Any) -> float:
    """A metric: how near the mean of the first output is to its reference, 1 at best."""
    return float(1 + predict({"x": np.ones((2, 3), np.float32)})["y"].mean())


_scores = [0.5, 1.0]


def falling_metric(predict: Any) -> float:
    """1 for the first predictor that asks, half for the next."""
    predict({"x": np.ones((2, 3), np.float32)})
    _scores.reverse()
    return _scores[0]


def slow_factory() -> nn.Module:
    """Takes long enough to be interrupted."""
    time.sleep(60)
    return mlp()


class Wide(Mlp):
    """float32 [batch, 3] to [batch, 2000]."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2000)


def wide() -> nn.Module:
    return _seeded(Wide)


class Brain(Mlp):
    """Ends in bfloat16."""

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).to(torch.bfloat16)


class Summing(Mlp):
    """Loses the batch dim."""

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).sum()


class TwoInputs(nn.Module):
    """a - 2b: wires that are swapped show."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a - 2 * b


def brain() -> nn.Module:
    return _seeded(Brain)


def summing() -> nn.Module:
    return _seeded(Summing)


def one_sample() -> list[dict[str, NDArray[np.float32]]]:
    """Eight rows in one sample."""
    return [{"x": np.arange(24, dtype=np.float32).reshape(8, 3) / 10}]


def equal_samples() -> list[dict[str, NDArray[np.float32]]]:
    return [{"x": np.ones((2, 3), np.float32)}] * 3


def negative_metric(predict: Any) -> float:
    return -1 - float(predict({"x": np.ones((2, 3), np.float32)})["y"].sum() ** 2)


def nan_metric(predict: Any) -> float:
    return float(predict({"x": np.ones((2, 3), np.float32)})["y"].sum() * np.nan)


def broken_metric(predict: Any) -> None:
    predict({"x": np.ones((2, 3), np.float32)})
