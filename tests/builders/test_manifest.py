"""build.json reads back equal, infinities included, and JSON readers can read it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from builders.build import build
from builders.manifest import dump_manifest, read_manifest
from builders.summary import print_summary
from tests.builders.conftest import MakeModel
from tritonsmith.spec_file import read_spec


def test_a_record_reads_back_equal(make_model: MakeModel) -> None:
    folder = make_model("mlp")
    record = build(folder, read_spec(folder.spec))
    again = read_manifest(folder.manifest)
    assert again is not None
    assert (again.parity, again.artifacts, again.files) == (record.parity, record.artifacts, record.files)
    assert dump_manifest(again) == dump_manifest(record)
    identical = next(row for row in record.parity if "cat" in row.case)
    assert identical.sqnr_db == math.inf
    assert '"sqnr_db": "inf"' in folder.manifest.read_text()

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(dump_manifest(record), parse_constant=refuse)


def test_a_record_of_another_schema_is_none(tmp_path: Path) -> None:
    (tmp_path / "build.json").write_text('{"schema": 999}')
    assert read_manifest(tmp_path / "build.json") is None
    assert read_manifest(tmp_path / "missing.json") is None


def test_noise_over_silence_is_not_called_identical(make_model: MakeModel, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_model("mlp")
    record = build(folder, read_spec(folder.spec))
    object.__setattr__(record.parity[0], "sqnr_db", -math.inf)
    print_summary(folder, record)
    shown = capsys.readouterr().out
    assert "-inf" in shown
    assert "identical" not in shown
