"""Reading Triton's log."""

from __future__ import annotations

from serving.log import (
    Failure,
    fatal_reason,
    has_given_up,
    last_errors,
    load_failures,
    models_loaded,
    models_loading,
)
from tests.serving import logs


def test_a_config_that_does_not_parse_is_reported_with_line_and_column() -> None:
    [failure] = load_failures(logs.TEXT_PROTO)

    assert failure.model == "textproto"
    assert failure.reason.startswith("config.pbtxt:2:9: Message type")


def test_a_traceback_becomes_its_message_and_the_users_innermost_line() -> None:
    [failure] = load_failures(logs.TRACEBACK)

    assert failure == Failure("raises", 'ValueError: bad "weights" second line (model.py:6)')


def test_a_static_error_keeps_its_text() -> None:
    [failure] = load_failures(logs.MISMATCH)

    assert failure.reason.startswith("unexpected directory name 'mismatch' for model 'other'")


def test_a_model_without_versions_is_a_failure() -> None:
    [failure] = load_failures(logs.NO_VERSION)

    assert failure.model == "noversion"


def test_the_status_code_is_left_out() -> None:
    [failure] = load_failures(logs.STUB_DIED)

    assert failure.reason == "Stub process 'exits_0_0' is not healthy."


def test_several_failures_keep_their_order_and_come_once_each() -> None:
    failures = load_failures(logs.MISMATCH + logs.STUB_DIED + logs.NO_GPU + logs.STUB_DIED)

    assert [failure.model for failure in failures] == ["mismatch", "exits", "gpu"]


def test_a_later_success_takes_a_failure_back() -> None:
    failed = logs.STUB_DIED.replace("exits", "good")

    assert load_failures(failed + logs.LOADED) == []


def test_models_are_loading_until_they_are_ready_or_failed() -> None:
    log = logs.LOADED + logs.LOADING

    assert models_loading(log) == ["slow"]
    assert models_loaded(log) == ["good"]


def test_the_server_gives_up_only_once_every_model_was_tried() -> None:
    assert not has_given_up(logs.STUB_DIED)
    assert not has_given_up(logs.LOADED + logs.STATUS_TABLE)
    assert has_given_up(logs.STUB_DIED + logs.STATUS_TABLE)


def test_a_taken_port_is_the_reason_of_the_end() -> None:
    assert fatal_reason(logs.PORT_TAKEN) == "Socket '127.0.0.1:8000' already in use"


def test_an_exception_is_the_reason_of_the_end() -> None:
    assert fatal_reason(logs.ABORTED) == "basic_string::_M_replace_aux"


def test_an_unknown_option_is_named() -> None:
    reason = fatal_reason("tritonserver: unrecognized option '--zork=3'\nUsage: tritonserver [options]\n")

    assert reason == "this Triton does not know the option --zork=3"


def test_a_log_without_an_end_has_no_reason() -> None:
    assert fatal_reason(logs.LOADED) is None


def test_the_last_errors_are_preferred_to_the_last_lines() -> None:
    assert last_errors(logs.MISMATCH + logs.LOADED, 1)[0].startswith("Poll failed for model directory 'mismatch'")
    assert last_errors("one\n\ntwo\n", 1) == ("two",)
