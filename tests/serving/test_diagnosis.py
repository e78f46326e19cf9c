"""Log and exit code to one line and a fix."""

from __future__ import annotations

import pytest

from serving.diagnosis import advice, how_it_ended, model_refused, models_failed, not_ready, server_ended
from serving.log import Failure
from tests.serving import logs


def test_a_model_that_did_not_load_is_named_with_its_reason() -> None:
    error = server_ended(logs.TRACEBACK + logs.GAVE_UP, 1)

    assert error.message == "model 'raises' did not load: ValueError: bad \"weights\" second line (model.py:6)"


def test_models_that_did_load_can_be_served_alone() -> None:
    error = server_ended(logs.LOADED + logs.TEXT_PROTO + logs.GAVE_UP, 1)

    assert error.hint is not None
    assert "tritonsmith config render textproto" in error.hint
    assert error.hint.endswith("the others alone: --model good")


def test_many_failures_are_counted_and_three_of_them_shown() -> None:
    error = models_failed([Failure(name, "broken") for name in "abcde"], [])

    assert error.message == "5 models did not load: 'a': broken; 'b': broken; 'c': broken; and 2 more"


def test_a_taken_port_has_its_fix() -> None:
    error = server_ended(logs.PORT_TAKEN, 1)

    assert error.message == "Triton did not start: Socket '127.0.0.1:8000' already in use"
    assert error.hint is not None
    assert "--free-ports" in error.hint


def test_a_killed_server_is_reported_with_the_signal_and_what_it_was_loading() -> None:
    error = server_ended(logs.LOADING, 137)

    assert error.message == "Triton was killed by SIGKILL (out of memory?) while loading 'slow'"


def test_an_abort_tells_its_last_words() -> None:
    error = server_ended(logs.ABORTED, 134)

    assert error.message == "Triton was killed by SIGABRT"
    assert error.hint is not None
    assert "basic_string::_M_replace_aux" in error.hint


def test_an_empty_log_still_gives_an_error() -> None:
    assert server_ended("", 3).message == "Triton ended with exit code 3"


def test_a_timeout_names_what_is_still_loading() -> None:
    assert not_ready(logs.LOADED + logs.LOADING, 30).message == "Triton was not ready after 30 s: still loading 'slow'"


def test_the_load_apis_useless_text_is_replaced_by_the_logs_reason() -> None:
    error = model_refused("mismatch", "failed to load 'mismatch', failed to poll from model repository", logs.MISMATCH)

    assert "unexpected directory name" in error.message


def test_without_a_reason_in_the_log_the_servers_text_is_shown() -> None:
    assert model_refused("m", "load failed for model 'm': no", "").message == "model 'm' did not load: no"


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("instance group gpu_0 of model gpu has kind KIND_GPU but no GPUs are available", "--host cpu"),
        ("ModuleNotFoundError: No module named 'tokenizers' (model.py:3)", "pip install tokenizers"),
        ("onnx runtime error 7: Load model from m.onnx failed:Protobuf parsing failed.", "build-engine m"),
        ("Stub process 'm_0_0' is not healthy.", "--log FILE"),
        ("Unable to initialize shared memory key: No space left on device", "--shm-size"),
    ],
)
def test_a_known_reason_has_a_fix(reason: str, fix: str) -> None:
    assert fix in (advice(reason, model="m") or "")


def test_an_unknown_reason_has_none() -> None:
    assert advice("the moon is full") is None


def test_exit_codes_that_are_no_signals_stay_numbers() -> None:
    assert how_it_ended(1) == "ended with exit code 1"
    assert how_it_ended(255) == "ended with exit code 255"
