"""Made-up values for one tensor, from a seeded generator: for where there are no samples."""

from __future__ import annotations

import numpy as np

from tritonsmith.samples import Array
from tritonsmith.spec import TensorSpec

_DEFAULT_RANGE = (0, 2)


def random_values(tensor: TensorSpec, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Values of the tensor's dtype in the given shape.

    With a `range` [low, high) uniform in it; without one, standard normal floats, and integers and bools of 0 and 1.
    """
    kind = tensor.type
    if kind.name == "string":
        texts = [f"text {value}" for value in generator.integers(100, size=shape).flat]
        return np.array(texts, dtype=object).reshape(shape)
    if kind.is_float:
        values: Array = generator.uniform(*tensor.range, shape) if tensor.range else generator.standard_normal(shape)
    else:
        low, high = tensor.range or _DEFAULT_RANGE
        values = generator.integers(int(low), int(high), shape)
    return values.astype(kind.to_numpy())
