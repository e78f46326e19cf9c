"""A command to copy from the terminal that asks a served model: with a sample of its spec, else with made-up input."""

from __future__ import annotations

import json
import shlex
from math import prod
from pathlib import Path
from typing import Any

from serving.client import Client, Metadata, Tensor
from tritonsmith.address import DEFAULT_URLS
from tritonsmith.dtypes import from_wire
from tritonsmith.errors import TritonsmithError
from tritonsmith.repository import DEFAULT_REPOSITORY, ModelFolder
from tritonsmith.spec_file import read_spec

_MOST_VALUES = 16
"""An input with more values is shown as a file to make."""


def example_command(model: str, repository: Path, url: str) -> str:
    """The command line, quoted for a shell, for a model on the server at `url` (HTTP)."""
    words = ["tritonsmith", "infer", model]
    if _has_samples(repository / model):
        words += ["--sample", "0"]
        words += [] if repository == DEFAULT_REPOSITORY else ["--repository", str(repository)]
    else:
        words += _made_up(model, url)
    return shlex.join([*words, *([] if url == DEFAULT_URLS["http"] else ["--url", url])])


def _has_samples(folder: Path) -> bool:
    try:
        return read_spec(ModelFolder(folder).spec).samples is not None
    except TritonsmithError:  # no spec, or one that is being edited: an example is no place to complain
        return False


def _made_up(model: str, url: str) -> list[str]:
    try:
        with Client(url, timeout_s=5) as client:
            return made_up_inputs(client.metadata(model))
    except TritonsmithError:
        return ["--input", "NAME=VALUE"]


def made_up_inputs(metadata: Metadata) -> list[str]:
    """An --input for each input: one row of zeros or of text where it is small, else a file that is to be made."""
    given = [f"{tensor.name}={_value(tensor, batches=metadata.max_batch_size > 0)}" for tensor in metadata.inputs]
    return [word for item in given for word in ("--input", item)]


def _value(tensor: Tensor, *, batches: bool) -> str:
    """Sizes that vary are 1."""
    shape = tuple(1 if size == -1 else size for size in (tensor.shape[1:] if batches else tensor.shape))
    if prod(shape) > _MOST_VALUES:
        return f"@{tensor.name.replace('/', '_')}.npy"
    zero = {"BYTES": "text", "BOOL": False}.get(tensor.datatype, 0.0 if from_wire(tensor.datatype).is_float else 0)
    return json.dumps(_filled(shape, zero))


def _filled(shape: tuple[int, ...], value: Any) -> Any:
    return [_filled(shape[1:], value) for _ in range(shape[0])] if shape else value
