"""The report on the machine, with things that are and are not there."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import pytest

from serving import machine_checks
from serving.doctor import CHECKS, Check, as_rows, check_all, is_able, run_check
from serving.finding import Finding
from tritonsmith.cli import main
from tritonsmith.errors import ServerError, TritonsmithError


def good() -> Finding:
    """A thing that is there."""
    return Finding(found="1.2.3")


def doubtful() -> Finding:
    """A thing that works, though not well."""
    return Finding(found="1.2.3", warning="it is slow", fix="buy another")


def absent() -> Finding:
    """A thing that is not there."""
    raise ServerError("there is none", hint="get one")


def test_a_thing_that_is_there_is_ok() -> None:
    assert run_check("tool", good, essential=True) == Check(name="tool", state="ok", found="1.2.3")


def test_a_thing_that_is_not_there_is_missing_with_the_fix() -> None:
    check = run_check("tool", absent, essential=True)

    assert (check.state, check.found, check.fix) == ("missing", "there is none", "get one")


def test_what_we_can_do_without_is_a_warning() -> None:
    assert run_check("tool", absent, essential=False).state == "warn"


def test_a_thing_that_works_badly_is_a_warning_with_the_fix() -> None:
    check = run_check("tool", doubtful, essential=True)

    assert (check.state, check.found, check.fix) == ("warn", "1.2.3; it is slow", "buy another")


def test_the_machine_is_able_as_long_as_nothing_essential_is_missing() -> None:
    checks = [run_check("a", good, essential=True), run_check("b", absent, essential=False)]

    assert is_able(checks)
    assert not is_able([*checks, run_check("c", absent, essential=True)])


def test_the_checks_can_be_written_as_json() -> None:
    assert json.loads(json.dumps(as_rows([run_check("a", absent, essential=True)])))[0]["fix"] == "get one"


def test_every_check_has_a_look_of_its_own() -> None:
    looks = [look for look, _ in CHECKS.values()]
    assert len(set(looks)) == len(looks)


def test_looking_starts_no_server() -> None:
    names = [check.name for check in check_all(start_server=False)]

    assert "a served model" not in names
    assert {"Python", "numpy", "torch", "GPU", "Triton", "perf_analyzer", "shared memory"} <= set(names)


def test_every_look_either_finds_or_says_how_to_get_it() -> None:
    for look in (machine_checks.torch, machine_checks.onnx, machine_checks.onnxruntime, machine_checks.gpu):
        try:
            assert look().found
        except TritonsmithError as error:
            assert error.hint  # noqa: PT017  # both ways are right; which one is the machine's


def test_the_command_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--quick", "--json"])
    report = json.loads(capsys.readouterr().out)

    assert code == (0 if report["able"] else 1)
    assert {"name", "state", "found", "fix", "essential"} == set(report["checks"][0])


def test_numpy_is_found_where_triton_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytriton", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TritonsmithError):
        machine_checks.triton()
    assert machine_checks.numpy().found == version("numpy")


@pytest.mark.server
def test_a_served_model_answers_with_the_right_values() -> None:
    check = run_check("a served model", machine_checks.served_model, essential=True)

    assert check.state == "ok", check
