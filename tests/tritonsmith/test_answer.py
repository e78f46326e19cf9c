from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tritonsmith.answer import output_arrays
from tritonsmith.errors import RequestError


class Result:
    """What tritonclient gives back, of HTTP (a dict) or gRPC (a message)."""

    def __init__(self, arrays: dict[str, Any], *, as_dict: bool) -> None:
        self._arrays, self._as_dict = arrays, as_dict

    def get_response(self) -> Any:
        """The answer without its data."""
        if self._as_dict:
            return {"outputs": [{"name": name} for name in self._arrays]}
        return SimpleNamespace(outputs=[SimpleNamespace(name=name) for name in self._arrays])

    def as_numpy(self, name: str) -> Any:
        """The data; an exception is raised."""
        if isinstance(self._arrays[name], Exception):
            raise self._arrays[name]
        return self._arrays[name]


@pytest.mark.parametrize("as_dict", [True, False])
def test_every_output_becomes_an_array(as_dict: bool) -> None:
    arrays = output_arrays(Result({"y": np.ones(2), "z": np.zeros(1)}, as_dict=as_dict))
    assert {name: array.tolist() for name, array in arrays.items()} == {"y": [1, 1], "z": [0]}


def test_an_answer_without_outputs_is_empty() -> None:
    assert output_arrays(SimpleNamespace(get_response=lambda: {"model_name": "m"})) == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "output 'y' came back without data"), (ValueError("cannot reshape"), "a size that its shape contradicts")],
)
def test_an_output_that_did_not_arrive_whole_is_refused(value: object, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        output_arrays(Result({"y": value}, as_dict=True))
