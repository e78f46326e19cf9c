"""A request as a person gives it: names with JSON values or files, made into the arrays that the server expects.

Dtype and shape come from the server's metadata; a missing batch dim is added. Where the server's row is [1], n
numbers are n rows: [n] becomes [n, 1]. Knows nothing of the network.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from serving.client import Metadata, Tensor
from tritonsmith.dtypes import from_wire
from tritonsmith.errors import RequestError
from tritonsmith.repository import find_model
from tritonsmith.samples import Array, load_samples
from tritonsmith.spec_file import read_spec

Given = dict[str, Any]
"""Input name to what was given for it: an array out of a file, text of the command line, nested lists of JSON."""


def read_inputs(items: Sequence[str]) -> Given:
    """What `name=VALUE`, `name=@file.npy`, `@request.json` and `@arrays.npz` say.

    ValueError for another form and for an input that is given twice.
    """
    given: Given = {}
    for item in items:
        read = _read_request(Path(item[1:])) if item.startswith("@") else _read_value(item)
        twice = given.keys() & read.keys()
        if twice:
            raise ValueError(f"input {min(twice)!r} is given twice; give each input once")
        given.update(read)
    return given


def _read_value(item: str) -> Given:
    name, equals, value = item.partition("=")
    if not (name and equals):
        raise ValueError(f"{item!r} is not name=VALUE, name=@FILE.npy, @REQUEST.json or @ARRAYS.npz")
    return {name: _read_array(Path(value[1:])) if value.startswith("@") else value}


def read_sample(model: str, repository: Path, index: int) -> Given:
    """Sample `index` of a model's spec."""
    spec = read_spec(find_model(model, repository).spec)
    samples = load_samples(spec, limit=index + 1)
    if index >= len(samples):
        has = f"has only {len(samples)} samples" if samples else "names no samples"
        raise RequestError(f"the spec of {model!r} {has}", hint="choose a smaller number, or give --input NAME=VALUE")
    return dict(samples[index])


def fit_inputs(metadata: Metadata, given: Given) -> dict[str, Array]:
    """The arrays to send, in the model's order of inputs; RequestError names what does not fit, and the fix."""
    known = [tensor.name for tensor in metadata.inputs]
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"its inputs: {', '.join(known)}"
            raise RequestError(f"model {metadata.name!r} has no input {name!r}", hint=hint)
    missing = [tensor for tensor in metadata.inputs if tensor.name not in given]
    if missing:
        example = " ".join(f"--input {tensor.name}=…" for tensor in missing)
        raise RequestError(
            f"model {metadata.name!r} also needs {', '.join(map(described, missing))}", hint=f"add {example}"
        )
    batches = metadata.max_batch_size > 0
    return {tensor.name: _fit(tensor, given[tensor.name], batches) for tensor in metadata.inputs}


def described(tensor: Tensor) -> str:
    """For people: name, dtype and shape."""
    return f"{tensor.name} ({from_wire(tensor.datatype).name} {list(tensor.shape)})"


def _read_array(path: Path) -> Array:
    """One array out of a .npy file."""
    loaded = _load(path)
    if isinstance(loaded, dict):
        raise RequestError(f"{path} holds several arrays", hint=f"give it whole: --input @{path}")
    return loaded


def _load(path: Path) -> Array | dict[str, Array]:
    """One array, or those of a .npz by name."""
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return dict(loaded)
    except OSError as error:
        raise RequestError(
            f"cannot read {path}: {error.strerror or error}", hint="name a file that is there"
        ) from error
    except (ValueError, EOFError, BadZipFile) as error:
        raise RequestError(
            f"{path} is no array that numpy can read without pickle", hint="write it with numpy.save"
        ) from error


def _read_request(path: Path) -> Given:
    """A .npz of arrays, a KServe v2 request, or plain JSON {name: values}."""
    if path.suffix == ".npy":
        raise RequestError(f"{path} holds an array without a name", hint=f"write NAME=@{path}")
    if path.suffix == ".npz":
        loaded = _load(path)
        if not isinstance(loaded, dict):
            raise RequestError(f"{path} holds an array without a name", hint=f"write NAME=@{path}")
        return loaded
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_each_once)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}", hint="name a file that is there") from error
    except ValueError as error:
        raise RequestError(
            f"{path} is not JSON that can be sent: {error}", hint='write {"input name": [values]}'
        ) from error
    if not isinstance(content, dict):
        raise RequestError(f"{path} is not a JSON object", hint='write {"input name": [values]}')
    if isinstance(content.get("inputs"), list):
        return _inputs_of(content["inputs"], path)
    return content


def _inputs_of(rows: list[Any], path: Path) -> Given:
    """The inputs of a KServe request."""
    try:
        return _each_once([_named_values(row, path) for row in rows])
    except ValueError as error:
        raise RequestError(f"{path}: input {error}", hint="give each input once") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; ValueError for a key that stands in it twice, of which Python would keep the last in silence."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} is given twice")
        found[key] = value
    return found


def _named_values(row: Any, path: Path) -> tuple[str, Any]:
    """Name and nested values of one input of a KServe request, whose data may be flat."""
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or "data" not in row:
        raise RequestError(
            f"{path}: an input lacks its name or data", hint='write {"name": …, "shape": […], "data": […]}'
        )
    data = np.asarray(row["data"], dtype=object)
    shape = row.get("shape", list(data.shape))
    if data.size != np.prod(shape, dtype=int):
        raise RequestError(
            f"{path}: input {row['name']!r} has {data.size} values, which do not fill its shape {shape}",
            hint="correct the shape or the data",
        )
    return row["name"], data.reshape(shape).tolist()


def _fit(tensor: Tensor, value: Any, batches: bool) -> Array:
    array = _from_file(tensor, value) if isinstance(value, np.ndarray) else _from_values(tensor, value)
    rank = len(tensor.shape)
    if array.size == 1 and array.ndim < rank:
        array = array.reshape((1,) * rank)
    elif batches and array.ndim == rank - 1:
        array = array[:, np.newaxis] if tensor.shape[1:] == (1,) else array[np.newaxis]
    fits = array.ndim == rank and all(want in (-1, is_) for want, is_ in zip(tensor.shape, array.shape, strict=True))
    if not fits:
        row = f"one row is {list(tensor.shape[1:])}; the batch dim is added" if batches else "-1 may be any size"
        raise RequestError(
            f"input {tensor.name!r} has shape {list(array.shape)}, the server expects {list(tensor.shape)}", hint=row
        )
    return array


def _numpy_type(tensor: Tensor) -> np.dtype[np.generic]:
    """The dtype of the array to give; BF16 is given as float32."""
    return np.dtype(np.float32) if tensor.datatype == "BF16" else from_wire(tensor.datatype).to_numpy()


def _from_file(tensor: Tensor, array: Array) -> Array:
    """An array out of a file: it has a dtype, so only conversions that lose nothing are made."""
    wanted = _numpy_type(tensor)
    if wanted.kind == "O" and array.dtype.kind in "SU":
        return array.astype(object)
    if not np.can_cast(array.dtype, wanted, "safe"):
        raise RequestError(
            f"input {tensor.name!r} is {array.dtype}, the server expects {wanted}",
            hint=f"convert it first: array.astype(numpy.{wanted})",
        )
    return array.astype(wanted)


def _from_values(tensor: Tensor, value: Any) -> Array:
    """Text or JSON values as an array of the tensor's dtype, if they are such values."""
    wanted = _numpy_type(tensor)
    if isinstance(value, str):
        value = _parse(tensor, value, wanted)
    if wanted.kind == "O":
        return np.asarray(value, dtype=object)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise RequestError(f"input {tensor.name!r}: the rows have different lengths", hint="pad them") from error
    if array.dtype.kind not in "biuf" or not _holds(wanted, array):
        raise RequestError(
            f"input {tensor.name!r} holds values that are no {wanted}: {_short(value)}",
            hint=f"the server expects {described(tensor)}",
        )
    return array.astype(wanted)


def _parse(tensor: Tensor, text: str, wanted: np.dtype[np.generic]) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if wanted.kind == "O":
            return text
        raise RequestError(
            f"input {tensor.name!r}: {_short(text)} is not JSON",
            hint=f"write {tensor.name}='[1, 2]', or {tensor.name}=@FILE.npy for a file",
        ) from None


def _holds(wanted: np.dtype[np.generic], array: Array) -> bool:
    """True when every value of `array` is one of dtype `wanted`; floats may be rounded, though not to infinity."""
    with np.errstate(invalid="ignore", over="ignore"):  # the comparison finds what does not fit
        cast = array.astype(wanted)
    if wanted.kind == "f":
        return array.dtype.kind != "b" and np.array_equal(np.isfinite(cast), np.isfinite(array))
    return bool(array.size == 0 or np.array_equal(cast, array))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"
