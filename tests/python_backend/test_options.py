"""Model config → session options and execution providers."""

from __future__ import annotations

from typing import Any

import pytest

from python_backend.onnxruntime.portable.errors import InvalidArgument, Unavailable
from python_backend.onnxruntime.portable.options import Options, read_options
from python_backend.onnxruntime.portable.providers import CPU, CUDA, OPENVINO, TENSORRT, Provider, choose_providers

EVERYTHING = [TENSORRT, CUDA, OPENVINO, CPU]


def parameters(**given: str) -> dict[str, Any]:
    """A config's parameters."""
    return {"parameters": {name.replace("__", "."): {"string_value": text} for name, text in given.items()}}


def accelerated(kind: str, name: str, **given: str) -> dict[str, Any]:
    """A config with one accelerator."""
    return {"optimization": {"execution_accelerators": {kind: [{"name": name, "parameters": given}]}}}


def test_nothing_asked_for_means_onnx_runtimes_defaults() -> None:
    assert read_options({"name": "m"}) == Options(graph_level="all")


def test_every_parameter_is_read() -> None:
    config = parameters(
        intra_op_thread_count="2",
        inter_op_thread_count=" 3 threads",
        execution_mode="1",
        enable_mem_arena="OFF",
        enable_mem_pattern="1",
        memory__enable_memory_arena_shrinkage="cpu:0",
        session__use_device_allocator_for_initializers="1",
        unknown="ignored",
    )

    assert read_options(config | {"model_operations": {"op_library_filename": ["a.so"]}}) == Options(
        parallel=True,
        intra_op_threads=2,
        inter_op_threads=3,
        mem_arena=False,
        mem_pattern=True,
        run_entries={"memory.enable_memory_arena_shrinkage": "cpu:0"},
        session_entries={"session.use_device_allocator_for_initializers": "1"},
        custom_op_libraries=("a.so",),
    )


@pytest.mark.parametrize(("level", "expected"), [(-1, "basic"), (0, "all"), (1, "extended"), (2, "off"), (9, "all")])
def test_graph_levels_mean_what_they_mean_natively(level: int, expected: str) -> None:
    assert read_options({"optimization": {"graph": {"level": level}}}).graph_level == expected


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("intra_op_thread_count", "abc", "failed to convert 'abc' to integral number"),
        ("intra_op_thread_count", "99999999999", "failed to convert '99999999999' to integral number"),
        ("inter_op_thread_count", "", "failed to convert '' to integral number"),
        ("enable_mem_pattern", "maybe", "failed to convert 'maybe' to boolean"),
        ("share_session_between_instances", "2", "failed to convert '2' to boolean"),
        (
            "execution_mode",
            "7",
            "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got 7 .",
        ),
    ],
)
def test_a_bad_value_gets_the_native_text(name: str, value: str, text: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        read_options(parameters(**{name: value}))

    assert str(refusal.value) == text


def test_a_cpu_instance_ignores_gpu_accelerators() -> None:
    config = accelerated("gpu_execution_accelerator", "tensorrt", precision_mode="FP99")

    assert choose_providers(config, kind="CPU", device=0, available=[CPU]) == (Provider(CPU),)


def test_a_gpu_instance_runs_on_cuda_with_its_device() -> None:
    config = parameters(cudnn_conv_algo_search="1", arena_extend_strategy="1", gpu_mem_limit="1000")

    assert choose_providers(config, kind="GPU", device=2, available=EVERYTHING) == (
        Provider(
            CUDA,
            {
                "gpu_mem_limit": "1000",
                "cudnn_conv_algo_search": "HEURISTIC",
                "arena_extend_strategy": "kSameAsRequested",
                "device_id": "2",
            },
        ),
        Provider(CPU),
    )


def test_tensorrt_comes_first_with_its_parameters_in_onnx_runtimes_words() -> None:
    config = accelerated(
        "gpu_execution_accelerator",
        "tensorrt",
        precision_mode="FP16",
        max_workspace_size_bytes="1073741824",
        trt_engine_cache_enable="true",
        trt_engine_cache_path="/cache",
    )

    tensorrt, cuda, cpu = choose_providers(config, kind="GPU", device=1, available=EVERYTHING)

    assert tensorrt == Provider(
        TENSORRT,
        {
            "trt_fp16_enable": "1",
            "trt_max_workspace_size": "1073741824",
            "trt_engine_cache_enable": "true",
            "trt_engine_cache_path": "/cache",
            "device_id": "1",
        },
    )
    assert (cuda.name, cpu.name) == (CUDA, CPU)


def test_openvino_serves_cpu_instances_where_it_is_there() -> None:
    config = accelerated("cpu_execution_accelerator", "openvino")

    assert choose_providers(config, kind="CPU", device=0, available=EVERYTHING) == (
        Provider(OPENVINO, {"device_type": "CPU"}),
        Provider(CPU),
    )
    with pytest.raises(InvalidArgument, match=r"^unknown Execution Accelerator 'openvino' is requested$"):
        choose_providers(config, kind="CPU", device=0, available=[CPU])


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            accelerated("gpu_execution_accelerator", "tensorrt", precision_mode="FP99"),
            "unsupported precision mode 'FP99' is requested",
        ),
        (
            accelerated("gpu_execution_accelerator", "tensorrt", trt_warp="1"),
            "unknown parameter 'trt_warp' is provided for TensorRT Execution Accelerator",
        ),
        (
            accelerated("gpu_execution_accelerator", "tensorrt", trt_dla_core="x"),
            "failed to convert 'x' to integral number",
        ),
        (accelerated("gpu_execution_accelerator", "warp"), "unknown Execution Accelerator 'warp' is requested"),
        (parameters(cudnn_conv_algo_search="3"), "unsupported cudnn_conv_algo_search value '3' is requested"),
    ],
)
def test_a_gpu_instance_refuses_what_the_native_backend_refuses(config: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        choose_providers(config, kind="GPU", device=0, available=EVERYTHING)

    assert str(refusal.value) == text


def test_a_gpu_instance_never_falls_back_to_the_cpu_in_silence() -> None:
    with pytest.raises(Unavailable, match=r"needs CUDAExecutionProvider, but .* has CPUExecutionProvider: install"):
        choose_providers({}, kind="GPU", device=0, available=[CPU])
