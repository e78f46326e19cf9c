"""Model config → what to tell ONNX Runtime about a session, without ONNX Runtime.

The parameter names, their values and their errors are those of NVIDIA's native onnxruntime backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import InvalidArgument
from .parameters import parse_bool, parse_int, string_parameters

GraphLevel = Literal["all", "basic", "extended", "off"]

# optimization.graph.level of the model config; any other number means everything, as natively.
GRAPH_LEVELS: Mapping[int, GraphLevel] = {-1: "basic", 1: "extended", 2: "off"}
SESSION_ENTRIES = ("session.use_device_allocator_for_initializers",)
RUN_ENTRIES = ("memory.enable_memory_arena_shrinkage",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of one session; a thread count of 0 and a None leave ONNX Runtime's own default."""

    graph_level: GraphLevel = "all"
    parallel: bool = False
    intra_op_threads: int = 0
    inter_op_threads: int = 0
    shares_session: bool = False
    mem_arena: bool | None = None
    mem_pattern: bool | None = None
    session_entries: Mapping[str, str] = field(default_factory=dict)
    run_entries: Mapping[str, str] = field(default_factory=dict)
    custom_op_libraries: tuple[str, ...] = ()


def read_options(config: Mapping[str, Any]) -> Options:
    """Read a model config's session settings; raises InvalidArgument for a value that the native backend refuses."""
    given = string_parameters(config)
    parallel = execution_mode(given)
    return Options(
        shares_session=optional_bool(given, "share_session_between_instances") or False,
        graph_level=graph_level(config),
        parallel=parallel,
        intra_op_threads=thread_count(given, "intra_op_thread_count"),
        inter_op_threads=thread_count(given, "inter_op_thread_count"),
        mem_arena=optional_bool(given, "enable_mem_arena"),
        mem_pattern=optional_bool(given, "enable_mem_pattern"),
        session_entries={name: given[name] for name in SESSION_ENTRIES if name in given},
        run_entries={name: given[name] for name in RUN_ENTRIES if name in given},
        custom_op_libraries=tuple(config.get("model_operations", {}).get("op_library_filename", ())),
    )


def graph_level(config: Mapping[str, Any]) -> GraphLevel:
    """Translate `optimization.graph.level`."""
    graph = config.get("optimization", {}).get("graph", {})
    return GRAPH_LEVELS.get(int(graph.get("level", 0)), "all")


def execution_mode(given: Mapping[str, str]) -> bool:
    """Tell whether `execution_mode` asks for the parallel executor; raises InvalidArgument unless it is 0 or 1."""
    mode = parse_int(given.get("execution_mode", "0"))
    if mode not in (0, 1):
        # The double blank and the blank before the full stop are the native text.
        text = f"Expected values for  execution_mode are 0 or 1 but got {mode} ."
        raise InvalidArgument(f"Invalid configuration value provided. {text}")
    return mode == 1


def thread_count(given: Mapping[str, str], name: str) -> int:
    """Read a thread count; 0 and below leave the choice to ONNX Runtime."""
    return max(parse_int(given.get(name, "0")), 0)


def optional_bool(given: Mapping[str, str], name: str) -> bool | None:
    """Read a boolean that may be absent."""
    return parse_bool(given[name]) if name in given else None
