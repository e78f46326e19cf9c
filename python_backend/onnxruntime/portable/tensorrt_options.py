"""Parameters of Triton's `tensorrt` execution accelerator → options of ONNX Runtime's TensorRT provider.

Most have the same name on both sides; four of Triton's older ones are renamed. Values are checked, then passed on
as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .errors import InvalidArgument
from .parameters import parse_bool, parse_int, parse_unsigned

PRECISIONS: Mapping[str, str | None] = {
    "FP32": None,
    "FP16": "trt_fp16_enable",
    "BF16": "trt_bf16_enable",
    "INT8": "trt_int8_enable",
}
RENAMED: Mapping[str, str] = {
    "max_workspace_size_bytes": "trt_max_workspace_size",
    "int8_calibration_table_name": "trt_int8_calibration_table_name",
    "int8_use_native_calibration_table": "trt_int8_use_native_calibration_table",
}
NUMBERS = (
    "trt_auxiliary_streams",
    "trt_builder_optimization_level",
    "trt_dla_core",
    "trt_ep_context_embed_mode",
    "trt_max_partition_iterations",
    "trt_min_subgraph_size",
)
SWITCHES = (
    "int8_use_native_calibration_table",
    "trt_build_heuristics_enable",
    "trt_context_memory_sharing_enable",
    "trt_cuda_graph_enable",
    "trt_detailed_build_log",
    "trt_dla_enable",
    "trt_dump_ep_context_model",
    "trt_dump_subgraphs",
    "trt_engine_cache_enable",
    "trt_force_sequential_engine_build",
    "trt_force_timing_cache",
    "trt_layer_norm_fp32_fallback",
    "trt_sparsity_enable",
    "trt_timing_cache_enable",
)
WORDS = (
    "int8_calibration_table_name",
    "trt_engine_cache_path",
    "trt_engine_cache_prefix",
    "trt_ep_context_file_path",
    "trt_extra_plugin_lib_paths",
    "trt_profile_max_shapes",
    "trt_profile_min_shapes",
    "trt_profile_opt_shapes",
    "trt_tactic_sources",
    "trt_timing_cache_path",
)
CHECKS: Mapping[str, Callable[[str], object]] = {
    "max_workspace_size_bytes": parse_unsigned,
    **dict.fromkeys(NUMBERS, parse_int),
    **dict.fromkeys(SWITCHES, parse_bool),
    **dict.fromkeys(WORDS, str),
}


def tensorrt_options(given: Mapping[str, str]) -> dict[str, str]:
    """Translate one accelerator's parameters; raises InvalidArgument for what the native backend refuses."""
    options: dict[str, str] = {}
    for name, value in given.items():
        if name == "precision_mode":
            options.update(precision_option(value))
        elif name not in CHECKS:
            raise InvalidArgument(f"unknown parameter '{name}' is provided for TensorRT Execution Accelerator")
        else:
            CHECKS[name](value)
            options[RENAMED.get(name, name)] = value
    return options


def precision_option(mode: str) -> dict[str, str]:
    """Return the switch for a precision; FP32 needs none."""
    if mode not in PRECISIONS:
        raise InvalidArgument(f"unsupported precision mode '{mode}' is requested")
    switch = PRECISIONS[mode]
    return {switch: "1"} if switch else {}
