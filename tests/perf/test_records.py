from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf.load import Load, Measured
from perf.point import make_point, point_from_json
from perf.records import Records
from perf.server_stats import ServerStats, Split
from perf.statistics import latency
from perf.sweep import resume
from tests.perf.made import HEADER, POINT, header, point, run
from tests.perf.test_perf_analyzer_run import _load
from tritonsmith.errors import MeasurementError, RepositoryError


def test_a_point_reads_back_equal() -> None:
    line = json.dumps(POINT.to_json())
    assert point_from_json(json.loads(line)) == POINT


def test_unknown_fields_of_a_later_version_are_passed_over() -> None:
    assert point_from_json({**POINT.to_json(), "power_w": 200}) == POINT


@pytest.mark.parametrize("change", [{"schema": 1}, {"batch_sizes": None}])
def test_another_schema_or_form_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(MeasurementError):
        point_from_json({**POINT.to_json(), **change})


def test_a_point_without_a_field_is_refused() -> None:
    record = POINT.to_json()
    del record["throughput_qps"]
    with pytest.raises(MeasurementError, match="throughput_qps"):
        point_from_json(record)


def _measured(**changes: object) -> Measured:
    values = {
        "duration_s": 2.0,
        "n": 300,
        "errors": 1,
        "first_error": "no",
        "latency": latency([4.0] * 300),
        "stable": True,
        "raw": True,
        "split": None,
        "server": ServerStats(succeeded=300, inferences=600, executions=200, stage_ns={"queue": 300_000_000}),
    }
    return Measured(**{**values, **changes})  # type: ignore[arg-type]  # a dict of mixed values


def test_a_point_is_made_of_what_was_measured() -> None:
    load: Load = _load()
    made = make_point(load, _measured(), client="builtin 1", started="now")
    assert (made.throughput_qps, made.throughput_ips, made.n, made.errors) == (150.0, 300.0, 300, 1)
    assert (made.latency_p99_ms, made.queue_us, made.batch_size_mean) == (4.0, 1000.0, 3.0)
    assert made.outside_us == 3000.0


def test_the_clients_own_split_comes_first_and_none_stays_none() -> None:
    split = Split(queue_us=1.0, compute_input_us=2.0, compute_infer_us=3.0, compute_output_us=4.0)
    assert make_point(_load(), _measured(split=split), client="", started="").queue_us == 1.0
    nothing = make_point(_load(), _measured(server=ServerStats()), client="", started="")
    assert (nothing.queue_us, nothing.outside_us, nothing.batch_size_mean) == (None, None, None)


def test_points_are_kept_as_they_come_and_read_back_in_order(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert records.read() is None
    records.start(HEADER)
    for concurrency in (4, 1):
        records.append(point(concurrency))
    assert records.read() == run(point(1), point(4))


def test_a_line_cut_off_by_a_crash_is_dropped_and_overwritten(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    records.append(point(1))
    with records.path.open("a") as file:
        file.write('{"kind": "point", "schema": 2, "concurr')
    assert records.read() == run(point(1))
    records.append(point(2))
    assert records.read() == run(point(1), point(2))


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    with records.path.open("a") as file:
        file.write("garbage\n")
    with pytest.raises(MeasurementError, match=r"points\.jsonl:2: ") as caught:
        records.read()
    assert "--fresh" in str(caught.value.hint)


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "points.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(MeasurementError, match=r"points\.jsonl:1: no header of schema 2"):
        Records(tmp_path).read()


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert resume(records, HEADER, fresh=False).points == ()
    records.append(point(1))
    later = header(started="2026-12-02T12:00:00+00:00")
    assert resume(records, later, fresh=False) == run(point(1))


def test_a_record_of_something_else_is_refused_with_what_differs(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    with pytest.raises(MeasurementError, match="batch: 1, now 4; build: none, now ee") as caught:
        resume(records, header(batch=4, build="ee"), fresh=False)
    assert "--fresh" in str(caught.value.hint)


def test_fresh_starts_anew_and_keeps_the_old_file(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    records.append(point(1))
    assert resume(records, header(batch=4), fresh=True).points == ()
    assert len((tmp_path / "points.previous.jsonl").read_text().splitlines()) == 2


def test_a_second_sweep_in_the_same_folder_is_refused_for_as_long_as_the_first_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused = pytest.raises(MeasurementError, match="another sweep is writing to")
    with Records(out).locked(), refused as caught, Records(out).locked():
        pass
    assert "--out" in str(caught.value.hint)
    with Records(out).locked():
        pass


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RepositoryError, match="cannot write to"), Records(tmp_path / "file" / below).locked():
        pass


def test_a_record_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    records.path.unlink()
    with pytest.raises(MeasurementError, match="cannot read"):
        records.append(point(1))


def test_the_same_server_on_another_port_is_the_same_and_on_another_host_is_not(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.start(HEADER)
    assert resume(records, header(url="127.0.0.1:9001"), fresh=False).header == HEADER
    with pytest.raises(MeasurementError, match=r"host: 127\.0\.0\.1, now gpu-7"):
        resume(records, header(url="gpu-7:8001", host="gpu-7"), fresh=False)


def test_a_run_keeps_one_point_a_level_and_gives_those_asked_for() -> None:
    twice = run(point(1), point(4)).with_point(point(1, n=5))
    assert [(item.concurrency, item.n) for item in twice.points] == [(1, 5), (4, 700)]
    assert [item.concurrency for item in twice.only((4, 8)).points] == [4]
