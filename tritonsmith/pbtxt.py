"""config.pbtxt: rendered from a spec, then parsed back with Triton's real ModelConfig proto and compared with the spec.

Rendering is pure: what is written where is the repository's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tritonsmith.config_text import parse_config
from tritonsmith.errors import ConfigError
from tritonsmith.spec import Backend, Size, Spec, TensorSpec
from tritonsmith.template_files import render

Host = Literal["auto", "cpu", "gpu"]
HOSTS: tuple[Host, ...] = ("auto", "cpu", "gpu")
_KINDS: dict[Host, str] = {"auto": "KIND_AUTO", "cpu": "KIND_CPU", "gpu": "KIND_GPU"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFacts:
    """What config.pbtxt needs to know of a backend: its artifact's name and the parameter for its threads, if any."""

    filename: str
    threads_parameter: str | None = None
    gpu_only: bool = False


BACKENDS: dict[Backend, BackendFacts] = {
    "onnxruntime": BackendFacts(filename="model.onnx", threads_parameter="intra_op_thread_count"),
    "tensorrt": BackendFacts(filename="model.plan", gpu_only=True),
    "pytorch": BackendFacts(filename="model.pt", threads_parameter="INTRA_OP_THREAD_COUNT"),
    "python": BackendFacts(filename="model.py"),
}


def render_config(spec: Spec, *, host: Host = "auto", backend: Backend | None = None) -> str:
    """The text of config.pbtxt for `host`, proven by parsing it back.

    `host` `auto` leaves the choice of CPU or GPU to the server. ConfigError when the backend cannot do what the spec
    asks for, or when the text does not say what the spec says.
    """
    backend = backend or spec.serving.backend
    _check_possible(spec, host, backend)
    text = render("triton/config.pbtxt.j2", **_context(spec, host, backend))
    _check_equal(parse_config(text, origin=f"config.pbtxt of {spec.name}"), spec, backend)
    return text


def _check_possible(spec: Spec, host: Host, backend: Backend) -> None:
    facts = BACKENDS[backend]
    if facts.gpu_only and host == "cpu":
        raise ConfigError(
            f"backend {backend!r} runs on GPUs only", hint="choose --host gpu, or the onnxruntime backend"
        )
    if spec.serving.instances.threads and facts.threads_parameter is None and host != "gpu":
        able = ", ".join(name for name, row in BACKENDS.items() if row.threads_parameter)
        raise ConfigError(
            f"serving.instances.threads has no effect with backend {backend!r}",
            hint=f"remove it; backends that take it: {able}",
        )
    if not spec.batches:
        for kind, name, tensor in spec.tensors():
            if not tensor.shape:
                raise ConfigError(
                    f"{kind}.{name} is a scalar, which Triton has only in models that batch",
                    hint="give the tensor a dim of 1, or a batch dim",
                )


def _context(spec: Spec, host: Host, backend: Backend) -> dict[str, Any]:
    serving = spec.serving
    return {
        "host": "for any host" if host == "auto" else f"for {host.upper()} hosts",
        "name": spec.name,
        "backend": backend,
        "max_batch_size": spec.max_batch_size,
        "inputs": [_tensor(spec, name, tensor) for name, tensor in spec.inputs.items()],
        "outputs": [_tensor(spec, name, tensor) for name, tensor in spec.outputs.items()],
        "instances": {
            "count": serving.instances.count,
            "kind": _KINDS[host],
            "gpus": serving.instances.gpus if host == "gpu" else (),
        },
        "dynamic_batching": serving.dynamic_batching if spec.batches else None,
        "version_policy": serving.version_policy,
        "warmups": _warmups(spec),
        "parameters": _parameters(spec, host, backend),
    }


def _tensor(spec: Spec, name: str, tensor: TensorSpec) -> dict[str, Any]:
    """One tensor as config.pbtxt has it: without the batch dim; a row that is a scalar becomes [1] with a reshape."""
    dims = [size if isinstance(size, int) else -1 for size in _row(spec, tensor)]
    return {
        "name": name,
        "data_type": tensor.type.config,
        "dims": dims or [1],
        "is_row_scalar": not dims,
        "is_float": tensor.type.is_float,
    }


def _row(spec: Spec, tensor: TensorSpec) -> list[Size]:
    """The sizes without the batch dim; fixed dims as their number."""
    sizes = [spec.size(size) for size in tensor.shape]
    return sizes[1:] if spec.batches else sizes


def _warmups(spec: Spec) -> list[dict[str, Any]]:
    """One sample per batch size; other dims at their typical size. Integers are zero: they may index a table."""
    warmup = spec.serving.warmup
    if warmup is None:
        return []
    typical = {name: dim.opt for name, dim in spec.dims.items()}
    inputs = []
    for name, tensor in spec.inputs.items():
        dims = [size if isinstance(size, int) else typical[size] for size in _row(spec, tensor)]
        inputs.append({**_tensor(spec, name, tensor), "dims": dims or [1]})
    sizes = warmup.batch_sizes if spec.batches else (0,)
    return [{"name": f"batch {size}", "batch_size": size, "count": warmup.count, "inputs": inputs} for size in sizes]


def _parameters(spec: Spec, host: Host, backend: Backend) -> dict[str, str]:
    """The spec's parameters, and the thread count: with several instances each would otherwise take all cores."""
    instances, name = spec.serving.instances, BACKENDS[backend].threads_parameter
    threads = instances.threads or (1 if instances.count > 1 else None)
    chosen = {name: str(threads)} if name and threads and host != "gpu" else {}
    return {**chosen, **spec.serving.parameters}


def _check_equal(config: Any, spec: Spec, backend: Backend) -> None:
    """The parsed message must say what the spec says; a difference is a fault of the template."""
    said, meant = _said(config), _meant(spec, backend)
    for key, value in meant.items():
        if said[key] != value:
            raise ConfigError(f"the rendered config.pbtxt says {key} {said[key]!r}, the spec {value!r}")


def _said(config: Any) -> dict[str, Any]:
    batching = config.dynamic_batching
    return {
        "name": config.name,
        "backend": config.backend,
        "max_batch_size": config.max_batch_size,
        "inputs": [(tensor.name, _type_name(tensor), list(tensor.dims)) for tensor in config.input],
        "outputs": [(tensor.name, _type_name(tensor), list(tensor.dims)) for tensor in config.output],
        "instances": [group.count for group in config.instance_group],
        "batching": (list(batching.preferred_batch_size), batching.max_queue_delay_microseconds),
        "version policy": config.version_policy.WhichOneof("policy_choice"),
        "warm-up": [(sample.batch_size, sample.count, sorted(sample.inputs)) for sample in config.model_warmup],
    }


def _meant(spec: Spec, backend: Backend) -> dict[str, Any]:
    serving = spec.serving
    batching = serving.dynamic_batching if spec.batches else None
    policy = serving.version_policy
    tensors = {
        kind: [(row["name"], row["data_type"], row["dims"]) for row in (_tensor(spec, *item) for item in group.items())]
        for kind, group in (("inputs", spec.inputs), ("outputs", spec.outputs))
    }
    sizes = serving.warmup.batch_sizes if serving.warmup and spec.batches else (0,) if serving.warmup else ()
    return {
        "name": spec.name,
        "backend": backend,
        "max_batch_size": spec.max_batch_size,
        **tensors,
        "instances": [serving.instances.count],
        "batching": (list(batching.preferred_batch_sizes), batching.max_queue_delay_us) if batching else ([], 0),
        "version policy": policy and next(name for name in ("latest", "all", "specific") if getattr(policy, name)),
        "warm-up": [(size, serving.warmup.count, sorted(spec.inputs)) for size in sizes if serving.warmup],
    }


def _type_name(tensor: Any) -> str:
    from tritonclient.grpc import model_config_pb2

    name: str = model_config_pb2.DataType.Name(tensor.data_type)
    return name
