from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf.server_stats import ServerStats, Split, parse_statistics

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize("name", ["statistics_http.json", "statistics_grpc.json"])
def test_both_protocols_tell_the_same_counters(name: str) -> None:
    stats = parse_statistics(json.loads((RECORDED / name).read_text()))
    assert (stats.succeeded, stats.failed, stats.inferences, stats.executions) == (132, 0, 264, 66)
    assert stats.stage_ns["queue"] == 77671177
    assert stats.batches == {4: 66}


def test_a_delta_tells_what_happened_in_between() -> None:
    before = ServerStats(succeeded=10, inferences=10, executions=10, stage_ns={"queue": 1000}, batches={1: 10})
    after = ServerStats(
        succeeded=14,
        failed=1,
        inferences=18,
        executions=12,
        stage_ns={"queue": 41000, "compute_infer": 8000},
        batches={1: 10, 4: 2},
    )
    delta = after.since(before)
    assert (delta.succeeded, delta.failed, delta.batches) == (4, 1, {4: 2})
    assert delta.batch_size_mean == 4.0
    assert delta.split == Split(queue_us=10.0, compute_input_us=0.0, compute_infer_us=2.0, compute_output_us=0.0)


def test_nothing_done_has_neither_a_batch_size_nor_a_split() -> None:
    nothing = ServerStats().since(ServerStats())
    assert nothing.batch_size_mean is None
    assert nothing.split is None


def test_versions_are_summed() -> None:
    one = {
        "inference_count": 3,
        "execution_count": 1,
        "batch_stats": [{"batch_size": 3, "compute_infer": {"count": 1}}],
    }
    both = parse_statistics({"model_stats": [one, one]})
    assert (both.inferences, both.executions, both.batches) == (6, 2, {3: 2})
