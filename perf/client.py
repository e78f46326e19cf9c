"""Choosing the load client: perf_analyzer where it runs, else the built-in one, and the reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perf.closed_loop import ClosedLoop
from perf.load import LoadClient
from perf.perf_analyzer import find
from perf.perf_analyzer_run import PerfAnalyzerClient
from tritonsmith.errors import MeasurementError

Choice = Literal["auto", "perf_analyzer", "builtin"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A client and why it is this one."""

    client: LoadClient
    why: str


def choose_client(choice: Choice) -> Chosen:
    """The client for `--client`; MeasurementError when perf_analyzer is asked for and does not run here."""
    if choice == "builtin":
        return Chosen(ClosedLoop(), "asked for with --client builtin")
    try:
        tool = find()
    except MeasurementError as error:
        if choice == "perf_analyzer":
            raise
        return Chosen(ClosedLoop(), f"{error.message}; {error.hint}" if error.hint else error.message)
    why = "asked for with --client perf_analyzer" if choice == "perf_analyzer" else "it runs on this machine"
    return Chosen(PerfAnalyzerClient(tool), why)
