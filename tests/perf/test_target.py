from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from perf.target import Target, facts_from_answers
from tests.live_triton import PROTOCOLS
from tritonsmith.address import Protocol
from tritonsmith.dtypes import dtype
from tritonsmith.errors import MeasurementError

METADATA = {
    "name": "double",
    "versions": ["1", "10", "9"],
    "inputs": [{"name": "x", "datatype": "FP32", "shape": ["-1", "3", "-1"]}],
}
SERVER = {"name": "one-of-many", "version": "2.51.0"}


def _facts(config: dict[str, Any], version: str = "") -> Any:
    return facts_from_answers(METADATA, config, SERVER, version)


def test_the_batch_dim_is_not_part_of_a_rows_shape() -> None:
    facts = _facts({"max_batch_size": 8})
    assert (facts.inputs[0].shape, facts.inputs[0].dtype, facts.max_batch_size) == ((3, -1), dtype("float32"), 8)
    assert _facts({}).inputs[0].shape == (-1, 3, -1)


def test_the_highest_version_is_meant_unless_one_is_named() -> None:
    assert _facts({}).version == "10"
    assert _facts({}, "9").version == "9"


def test_grpc_wraps_the_configuration_and_says_the_same() -> None:
    config = {"max_batch_size": 4, "model_transaction_policy": {"decoupled": True}}
    assert _facts({"config": config}) == _facts(config)
    assert _facts(config).decoupled


def test_a_change_of_the_configuration_changes_its_hash_and_a_new_server_name_nothing() -> None:
    facts = _facts({"max_batch_size": 4})
    assert facts.config_sha256 != _facts({"max_batch_size": 8}).config_sha256
    assert facts.server == "Triton 2.51.0"


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_never_answers_is_given_up_on(silent: str, protocol: Protocol) -> None:
    with (
        Target(url=silent, protocol=protocol, model="m", timeout_s=0.3) as target,
        pytest.raises(MeasurementError, match=f"no answer from {silent} over {protocol} within 0.3 s"),
    ):
        target.facts()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_that_never_answers_is_not_said_to_refuse_the_request(silent: str, protocol: Protocol) -> None:
    with (
        Target(url=silent, protocol=protocol, model="m", timeout_s=0.3) as target,
        pytest.raises(MeasurementError, match=r"^m did not answer the first request within 0.3 s$") as caught,
    ):
        target.try_once({"x": np.zeros((1, 1), np.float32)})
    assert "--timeout" in str(caught.value.hint)
