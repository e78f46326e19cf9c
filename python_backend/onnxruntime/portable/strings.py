"""String tensors: Triton hands over bytes, ONNX Runtime's Python binding wants text.

Given bytes, the binding would store their Python notation, b'like this'. So they are decoded, as UTF-8, which is what
ONNX says a string is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import RunError

Array = npt.NDArray[Any]


def decode_strings(name: str, array: Array) -> Array:
    """Turn an object array of bytes into one of str, shape kept; other arrays pass untouched.

    Raises RunError, the request at fault, for bytes that are not UTF-8.
    """
    if array.dtype != np.object_:
        return array
    try:
        texts = [element.decode() for element in array.flat]
    except UnicodeDecodeError as error:
        fault = f"input '{name}' holds a string that is not UTF-8 ({error}): encode it, or send it as TYPE_UINT8"
        raise RunError(fault, request_at_fault=True) from error
    decoded = np.empty(array.size, np.object_)
    decoded[:] = texts
    return decoded.reshape(array.shape)
