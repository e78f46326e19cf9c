"""Shapes at run time: which requests can share a batch, which do not fit the model, and where scalars hide.

Verdicts are remembered per shape, so that a shape seen before costs one dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from .tensors import DYNAMIC, TensorInfo, format_shape

Array = npt.NDArray[Any]
Feed = Mapping[str, Array]

REMEMBERED_SHAPES = 1024


class ShapeRules:
    """The shapes that one model takes, and the dims under which the config shows its scalars."""

    def __init__(
        self, model: str, takes: Mapping[str, TensorInfo], scalar_dims: Mapping[str, tuple[int, ...]], *, batched: bool
    ) -> None:
        """Take the model's name and tensors; `scalar_dims` are the config's dims of outputs that are scalars."""
        self._model = model
        self._takes = takes
        self._scalar_dims = scalar_dims
        self._scalar_inputs = {name for name, info in takes.items() if not info.shape}
        self._skip = 1 if batched else 0
        self._verdicts: dict[object, str | None] = {}

    def key(self, feed: Feed) -> object:
        """Return what two feeds share exactly if they can share a batch: the shapes behind the batch dim.

        A scalar of the model has no batch dim, whatever the config says: its whole shape counts.
        """
        if len(feed) == 1 and not self._scalar_inputs:
            ((name, array),) = feed.items()
            return name, array.shape[self._skip :]
        return frozenset([(name, self._rows_shape(name, array)) for name, array in feed.items()])

    def _rows_shape(self, name: str, array: Array) -> tuple[int, ...]:
        return array.shape if name in self._scalar_inputs else array.shape[self._skip :]

    @property
    def can_join(self) -> bool:
        """True unless the model takes a scalar, of which a batch can have only one."""
        return not self._scalar_inputs

    def problem(self, feed: Feed) -> str | None:
        """Say what is wrong with a feed's shapes, or None."""
        key = self.key(feed)
        if key not in self._verdicts:
            if len(self._verdicts) >= REMEMBERED_SHAPES:
                self._verdicts.clear()
            self._verdicts[key] = self._judge(feed)
        return self._verdicts[key]

    def _judge(self, feed: Feed) -> str | None:
        for name, array in feed.items():
            info = self._takes.get(name)
            if info is not None and not shape_fits(info.shape, array.shape):
                return (
                    f"input '{name}' has shape {format_shape(array.shape)}, but model '{self._model}' takes "
                    f"{format_shape(info.shape)}: send the dims that are not -1 exactly as they are there"
                )
        return None

    def to_model(self, feed: Feed) -> Feed:
        """Turn inputs that the config shows as [1] into the model's scalars."""
        if not self._scalar_inputs:
            return feed
        return {name: array.reshape(()) if name in self._scalar_inputs else array for name, array in feed.items()}

    def to_config(self, outputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Give the model's scalars the dims that the config shows."""
        if not self._scalar_dims:
            return outputs
        return {
            name: array.reshape(self._scalar_dims[name]) if array.ndim == 0 and name in self._scalar_dims else array
            for name, array in outputs.items()
        }


def shape_fits(model_shape: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether the model takes this shape; a scalar takes any single value."""
    if not model_shape:
        return all(dim == 1 for dim in shape)
    if len(model_shape) != len(shape):
        return False
    return all(expected in (DYNAMIC, given) for expected, given in zip(model_shape, shape, strict=True))
