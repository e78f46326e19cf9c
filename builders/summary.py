"""What `build-engine` prints at the end: the artifact, the parity table, the metric. Formats, computes nothing."""

from __future__ import annotations

import math

from rich.table import Table

from builders.manifest import Manifest
from builders.parity import OutputParity, worst_of
from tritonsmith.console import log, out
from tritonsmith.repository import ModelFolder


def print_summary(folder: ModelFolder, manifest: Manifest) -> None:
    """One line on what was built, a row per output for its worst case, and the task metric."""
    artifact = manifest.artifacts[0]
    how = "unchanged, reused" if manifest.cached else f"built in {sum(manifest.seconds.values()):.1f} s"
    out.print(f"[bold]{manifest.model}[/] {how}: {folder.root / artifact.path} ({artifact.size / 1e6:.1f} MB, fp32)")
    if not manifest.cached:
        out.print(_parity_table(manifest))
    if manifest.metric is not None:
        metric = manifest.metric
        out.print(f"metric {metric.name}: {metric.artifact:.4f} (reference {metric.reference:.4f})")
    for warning in manifest.warnings:
        log.print(f"[yellow]warning[/]: {warning}")


def _parity_table(manifest: Manifest) -> Table:
    cases = len({row.case for row in manifest.parity})
    table = Table(title=f"parity with {manifest.reference}: worst of {cases} cases", title_justify="left")
    for heading in ("output", "worst case", "max abs", "max rel", "cosine", "SQNR dB"):
        table.add_column(heading, justify="left" if heading in {"output", "worst case"} else "right")
    for row in worst_of(manifest.parity).values():
        table.add_row(*_cells(row))
    return table


def _cells(row: OutputParity) -> list[str]:
    sqnr = "identical" if row.sqnr_db == math.inf else f"{row.sqnr_db:.1f}"
    return [row.output, row.case, f"{row.max_abs:.2e}", f"{row.max_rel:.2e}", f"{row.cosine:.6f}", sqnr]
