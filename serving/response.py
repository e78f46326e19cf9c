"""The outputs of a request, for people, for programs and for a file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tritonsmith.dtypes import from_numpy
from tritonsmith.files import write_atomic
from tritonsmith.samples import Array


def as_text(outputs: Mapping[str, Array]) -> str:
    """Each output with dtype and shape, and its values below, shortened where they are many."""
    return "\n".join(_block(name, _readable(array)) for name, array in outputs.items())


def _block(name: str, array: Array) -> str:
    values = np.array2string(array, threshold=40, edgeitems=3, precision=5, suppress_small=True, max_line_width=100)
    head = f"{name}  {from_numpy(array.dtype).name} {list(array.shape)}"
    return head + "\n" + "\n".join(f"  {line}" for line in values.splitlines())


def as_json(model: str, outputs: Mapping[str, Array]) -> dict[str, Any]:
    """The outputs in KServe's form, all values, nested by shape; null for NaN and infinity, which JSON has not."""
    rows = [
        {
            "name": name,
            "datatype": from_numpy(array.dtype).wire,
            "shape": list(array.shape),
            "data": _in_json(array).tolist(),
        }
        for name, array in outputs.items()
    ]
    return {"model_name": model, "outputs": rows}


def write_npz(path: Path, outputs: Mapping[str, Array]) -> None:
    """Write all outputs into one .npz file, without pickle. numpy.savez would take some names for its own arguments."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in outputs.items():
            values = array.astype(np.bytes_) if array.dtype.kind == "O" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.save(member, values, allow_pickle=False)
    write_atomic(path, buffer.getvalue())


def _in_json(array: Array) -> Array:
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return _readable(array)
    values = array.astype(object)
    values[~np.isfinite(array)] = None
    return values


def _readable(array: Array) -> Array:
    """Bytes as text where they are text."""
    if array.dtype.kind != "O":
        return array
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in array.ravel()]
    return np.array(texts, dtype=object).reshape(array.shape)
