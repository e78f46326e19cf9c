"""config.pbtxt: rendered from a spec, then parsed back with Triton's real ModelConfig proto and compared with the spec.

Rendering is pure: what is written where is the repository's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from google.protobuf import text_format

from tritonsmith.errors import ConfigError
from tritonsmith.spec import BATCH, Backend, Spec, TensorSpec
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


def parse_config(text: str, *, origin: str = "config.pbtxt") -> Any:
    """The ModelConfig message of a config.pbtxt; ConfigError with line and column where it does not parse."""
    from tritonclient.grpc import model_config_pb2

    try:
        return text_format.Parse(text, model_config_pb2.ModelConfig())
    except text_format.ParseError as error:
        line, column = error.GetLine() or 0, error.GetColumn() or 0
        said = str(error).partition(" : ")[2] or str(error)
        raise ConfigError(f"{origin}:{line}:{column}: {said}") from error


def _check_possible(spec: Spec, host: Host, backend: Backend) -> None:
    facts = BACKENDS[backend]
    if facts.gpu_only and host == "cpu":
        raise ConfigError(
            f"backend {backend!r} runs on GPUs only", hint="choose --host gpu, or the onnxruntime backend"
        )
    if spec.serving.instances.threads and facts.threads_parameter is None:
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
    row = tensor.shape[1:] if spec.batches else tensor.shape
    dims = [size if isinstance(size, int) else -1 for size in row]
    return {
        "name": name,
        "data_type": tensor.type.config,
        "dims": dims or [1],
        "is_row_scalar": not dims,
        "is_float": tensor.type.is_float,
    }


def _warmups(spec: Spec) -> list[dict[str, Any]]:
    """One sample per batch size; other dims at their typical size. Integers are zero: they may index a table."""
    warmup = spec.serving.warmup
    if warmup is None:
        return []
    typical = {name: dim.opt for name, dim in spec.dims.items()}
    inputs = []
    for name, tensor in spec.inputs.items():
        row = tensor.shape[1:] if spec.batches else tensor.shape
        dims = [size if isinstance(size, int) else typical[size] for size in row]
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
    said = {
        "name": config.name,
        "backend": config.backend,
        "max_batch_size": config.max_batch_size,
        "inputs": [(tensor.name, _type_name(tensor), list(tensor.dims)) for tensor in config.input],
        "outputs": [(tensor.name, _type_name(tensor), list(tensor.dims)) for tensor in config.output],
    }
    meant = {"name": spec.name, "backend": backend, "max_batch_size": spec.max_batch_size}
    for kind, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        rows = [_tensor(spec, name, tensor) for name, tensor in tensors.items()]
        meant[kind] = [(row["name"], row["data_type"], row["dims"]) for row in rows]
    for key, value in meant.items():
        if said[key] != value:
            raise ConfigError(f"the rendered config.pbtxt says {key} {said[key]!r}, the spec {value!r}")


def _type_name(tensor: Any) -> str:
    from tritonclient.grpc import model_config_pb2

    name: str = model_config_pb2.DataType.Name(tensor.data_type)
    return name


__all__ = ["BACKENDS", "BATCH", "HOSTS", "BackendFacts", "Host", "parse_config", "render_config"]
