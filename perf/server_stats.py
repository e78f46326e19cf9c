"""Triton's own statistics of one model, as plain data: what the server did between two moments.

Parsed from the answer of the statistics API, which counts since the model was loaded; requests of other clients in the
same time are counted too, as the server cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STAGES = ("queue", "compute_input", "compute_infer", "compute_output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The time of an average request in the server's stages, in microseconds."""

    queue_us: float
    compute_input_us: float
    compute_infer_us: float
    compute_output_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStats:
    """Counters of one model: requests, rows (`inferences`), runs of the model (`executions`), stage times in ns."""

    succeeded: int = 0
    failed: int = 0
    inferences: int = 0
    executions: int = 0
    stage_ns: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[int, int] = field(default_factory=dict)

    def since(self, earlier: ServerStats) -> ServerStats:
        """What was counted after `earlier`."""
        stages = {stage: self.stage_ns.get(stage, 0) - earlier.stage_ns.get(stage, 0) for stage in STAGES}
        sizes = {size: count - earlier.batches.get(size, 0) for size, count in sorted(self.batches.items())}
        return ServerStats(
            succeeded=self.succeeded - earlier.succeeded,
            failed=self.failed - earlier.failed,
            inferences=self.inferences - earlier.inferences,
            executions=self.executions - earlier.executions,
            stage_ns=stages,
            batches={size: count for size, count in sizes.items() if count > 0},
        )

    @property
    def batch_size_mean(self) -> float | None:
        """Rows per run of the model = inferences / executions; None when it did not run."""
        return self.inferences / self.executions if self.executions > 0 else None

    @property
    def split(self) -> Split | None:
        """Stage time / successful requests / 1000; a request counts the whole time of the batch that it was in."""
        if self.succeeded <= 0:
            return None
        times = {f"{stage}_us": self.stage_ns.get(stage, 0) / self.succeeded / 1000 for stage in STAGES}
        return Split(**times)


def parse_statistics(answer: Mapping[str, Any]) -> ServerStats:
    """The counters from the statistics API's JSON; all versions in the answer are summed.

    HTTP gives numbers and gRPC strings; fields that are zero may be missing.
    """
    rows = [_row(model) for model in answer.get("model_stats", [])]
    batches: dict[int, int] = {}
    for row in rows:
        for size, count in row.batches.items():
            batches[size] = batches.get(size, 0) + count
    return ServerStats(
        succeeded=sum(row.succeeded for row in rows),
        failed=sum(row.failed for row in rows),
        inferences=sum(row.inferences for row in rows),
        executions=sum(row.executions for row in rows),
        stage_ns={stage: sum(row.stage_ns[stage] for row in rows) for stage in STAGES},
        batches=batches,
    )


def _row(model: Mapping[str, Any]) -> ServerStats:
    stats = model.get("inference_stats", {})
    return ServerStats(
        succeeded=_number(stats, "success", "count"),
        failed=_number(stats, "fail", "count"),
        inferences=int(model.get("inference_count", 0)),
        executions=int(model.get("execution_count", 0)),
        stage_ns={stage: _number(stats, stage, "ns") for stage in STAGES},
        batches={
            int(entry["batch_size"]): _number(entry, "compute_infer", "count") for entry in model.get("batch_stats", [])
        },
    )


def _number(stats: Mapping[str, Any], key: str, unit: str) -> int:
    return int(stats.get(key, {}).get(unit, 0))
