"""Instance kind and execution accelerators → ONNX Runtime execution providers, best first, the CPU last.

A GPU instance gets the CUDA provider, with TensorRT in front where the config asks for it; `openvino` serves CPU
instances. Knows nothing of sessions; what ONNX Runtime can run here is an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import InvalidArgument, Unavailable
from .parameters import parse_int, string_parameters
from .tensorrt_options import tensorrt_options

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
OPENVINO = "OpenVINOExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
GPU_KINDS = frozenset({"GPU", "AUTO"})

# The older way to set CUDA options: a number in `parameters` that stands for a word.
CUDA_WORDS: Mapping[str, tuple[str, ...]] = {
    "cudnn_conv_algo_search": ("EXHAUSTIVE", "HEURISTIC", "DEFAULT"),
    "arena_extend_strategy": ("kNextPowerOfTwo", "kSameAsRequested"),
}
CUDA_VERBATIM = ("gpu_mem_limit", "do_copy_in_default_stream")


@dataclass(frozen=True, slots=True)
class Provider:
    """One execution provider and its options, both in ONNX Runtime's words."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def choose_providers(
    config: Mapping[str, Any], *, kind: str, device: int, available: Collection[str]
) -> tuple[Provider, ...]:
    """Return the providers for one model instance.

    `kind` is Triton's CPU, GPU, MODEL or AUTO, `device` the GPU's number, `available` what ONNX Runtime can run here.
    Raises InvalidArgument for an unknown accelerator or option, Unavailable for a GPU instance without a CUDA provider.
    """
    chosen = gpu_providers(config, device) if kind in GPU_KINDS else []
    chosen += cpu_providers(config, available)
    missing = [provider.name for provider in chosen if provider.name not in available]
    if missing:
        raise Unavailable(
            f"instance kind {kind} needs {', '.join(missing)}, but this ONNX Runtime has {', '.join(available)}: "
            "install onnxruntime-gpu in place of onnxruntime, or set the instance_group to KIND_CPU"
        )
    return (*chosen, Provider(CPU))


def gpu_providers(config: Mapping[str, Any], device: int) -> list[Provider]:
    """Return TensorRT, where asked for, and CUDA, for the GPU with this number."""
    cuda: dict[str, str] = {}
    providers = []
    for accelerator in accelerators(config, "gpu_execution_accelerator"):
        given = accelerator.get("parameters", {})
        if accelerator["name"] == "tensorrt":
            providers.append(Provider(TENSORRT, {**tensorrt_options(given), "device_id": str(device)}))
        elif accelerator["name"] == "cuda":
            cuda.update(given)
        else:
            raise unknown_accelerator(accelerator["name"])
    cuda.update(cuda_parameters(string_parameters(config)))
    return [*providers, Provider(CUDA, {**cuda, "device_id": str(device)})]


def cuda_parameters(given: Mapping[str, str]) -> dict[str, str]:
    """Translate the CUDA options that a config carries among its plain parameters."""
    options = {name: given[name] for name in CUDA_VERBATIM if name in given}
    for name, words in CUDA_WORDS.items():
        if name in given:
            number = parse_int(given[name])
            if not 0 <= number < len(words):
                raise InvalidArgument(f"unsupported {name} value '{number}' is requested")
            options[name] = words[number]
    return options


def cpu_providers(config: Mapping[str, Any], available: Collection[str]) -> list[Provider]:
    """Return OpenVINO where the config asks for it and ONNX Runtime has it; anything else is unknown, as natively."""
    providers = []
    for accelerator in accelerators(config, "cpu_execution_accelerator"):
        if accelerator["name"] != "openvino" or OPENVINO not in available:
            raise unknown_accelerator(accelerator["name"])
        providers.append(Provider(OPENVINO, {"device_type": "CPU"}))
    return providers


def accelerators(config: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the config's execution accelerators of one kind, in their order."""
    found: list[dict[str, Any]] = config.get("optimization", {}).get("execution_accelerators", {}).get(kind, [])
    return found


def unknown_accelerator(name: str) -> InvalidArgument:
    """Word the error for an accelerator that is not there."""
    return InvalidArgument(f"unknown Execution Accelerator '{name}' is requested")
