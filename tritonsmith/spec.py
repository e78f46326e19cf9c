"""The spec of one model, as frozen dataclasses that are checked when built.

They know nothing of YAML, files or torch; `spec_file` reads them. A rule that is broken raises ValueError here, which
the reader turns into a SpecError that names the key and its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tritonsmith.dtypes import DType, dtype
from tritonsmith.errors import SpecError

BATCH = "batch"
"""The dim of this name, first in every input and output, is the one that Triton batches over."""

_MODEL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TENSOR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")

Backend = Literal["onnxruntime", "tensorrt", "pytorch", "python"]
Size = int | str
DEFAULT_OPSET, OLDEST_OPSET, NEWEST_OPSET = 20, 18, 22
"""The exporter writes 18 and newer; from 23 on attention is one operator, which not all runtimes read alike."""


def check_model_name(name: str) -> None:
    """ValueError unless `name` is safe as a folder name and a URL segment."""
    if not _MODEL_NAME.fullmatch(name) or ".." in name or len(name) > 200:
        raise ValueError(
            f"model name {name!r}: letters, digits, '_', '-', single dots; at most 200; not starting with '.' or '-'"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """The range of a dynamic dim: the smallest, the typical and the largest size."""

    min: int = 1
    opt: int
    max: int

    @property
    def is_fixed(self) -> bool:
        """True when only one size is allowed: such a dim is exported and served as that number."""
        return self.min == self.max

    def __post_init__(self) -> None:
        if not 1 <= self.min <= self.opt <= self.max:
            raise ValueError(f"needs 1 <= min <= opt <= max, got min {self.min}, opt {self.opt}, max {self.max}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One input or output: its dtype and shape (fixed sizes and names of dims); `range` bounds synthetic values."""

    dtype: str
    shape: tuple[Size, ...]
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        try:
            dtype(self.dtype)
        except SpecError as error:
            raise ValueError(f"{error.message}: {error.hint}") from error
        for size in self.shape:
            if isinstance(size, int) and size < 1:
                raise ValueError(f"shape {list(self.shape)}: a fixed size is at least 1; name a dim that varies")
        self._check_range()

    def _check_range(self) -> None:
        if self.range is None:
            return
        low, high = self.range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"range {[low, high]}: two finite numbers, the first the smaller")
        if not self.type.is_float and not (low == int(low) and high == int(high)):
            raise ValueError(f"range {[low, high]}: whole numbers for {self.dtype}")
        if self.type.name == "string":
            raise ValueError(f"range {[low, high]}: strings have none")

    @property
    def type(self) -> DType:
        """The row of the dtype table."""
        return dtype(self.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the model comes from: one of the sources, `state_dict` with `factory`; paths start at the spec's folder."""

    factory: str | None = None
    hf: str | None = None
    exported: str | None = None
    torchscript: str | None = None
    onnx: str | None = None
    state_dict: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(SOURCES)}, got {', '.join(given) or 'none'}")
        if self.state_dict is not None and self.factory is None:
            raise ValueError("state_dict needs a factory that makes the module it is loaded into")
        if self.kwargs and self.factory is None:
            raise ValueError("kwargs are arguments of a factory; there is none")

    @property
    def kind(self) -> str:
        """Which source is given: factory, hf, exported, torchscript or onnx."""
        return next(name for name in SOURCES if getattr(self, name) is not None)


SOURCES = ("factory", "hf", "exported", "torchscript", "onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The parity gate |y - ref| <= atol + rtol * |ref|, element by element (numpy.isclose)."""

    atol: float = 1e-4
    rtol: float = 1e-3

    def __post_init__(self) -> None:
        if not (0 <= self.atol < math.inf and 0 <= self.rtol < math.inf):
            raise ValueError(f"atol {self.atol} and rtol {self.rtol} must be finite and not negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicBatching:
    """Triton's dynamic batcher: how long a request may wait for others (microseconds) and which sizes to prefer."""

    max_queue_delay_us: int = 0
    preferred_batch_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.max_queue_delay_us < 0:
            raise ValueError(f"max_queue_delay_us {self.max_queue_delay_us} must not be negative")
        if any(size < 1 for size in self.preferred_batch_sizes):
            raise ValueError(f"preferred_batch_sizes {list(self.preferred_batch_sizes)}: each must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """How many copies of the model run side by side, on which GPUs, with how many intra-op threads each (CPU)."""

    count: int = 1
    gpus: tuple[int, ...] = ()
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count {self.count} must be at least 1")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads {self.threads} must be at least 1")
        if any(gpu < 0 for gpu in self.gpus):
            raise ValueError(f"gpus {list(self.gpus)}: a GPU index is 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPolicy:
    """Which versions are served: the `latest` n, `all`, or the `specific` ones; exactly one."""

    latest: int | None = None
    all: bool = False
    specific: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if (self.latest is not None) + self.all + bool(self.specific) != 1:
            raise ValueError("needs exactly one of latest, all, specific")
        if self.latest is not None and self.latest < 1:
            raise ValueError(f"latest {self.latest} must be at least 1")
        if any(version < 1 for version in self.specific):
            raise ValueError(f"specific {list(self.specific)}: a version is at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Requests that the server runs before it is ready: one of each batch size, `count` times."""

    batch_sizes: tuple[int, ...] = (1,)
    count: int = 1

    def __post_init__(self) -> None:
        if not self.batch_sizes or any(size < 1 for size in self.batch_sizes):
            raise ValueError(f"batch_sizes {list(self.batch_sizes)}: name at least one, each at least 1")
        if self.count < 1:
            raise ValueError(f"count {self.count} must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """The service-level objective that measurements are judged by."""

    latency_p99_ms: float

    def __post_init__(self) -> None:
        if not 0 < self.latency_p99_ms < math.inf:
            raise ValueError(f"latency_p99_ms {self.latency_p99_ms} must be positive and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How Triton serves the model; becomes config.pbtxt. `dynamic_batching: null` turns batching of requests off."""

    backend: Backend = "onnxruntime"
    dynamic_batching: DynamicBatching | None = field(default_factory=DynamicBatching)
    instances: Instances = field(default_factory=Instances)
    version_policy: VersionPolicy | None = None
    warmup: Warmup | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    slo: Slo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One model: where it comes from, its tensors, what to build and how to serve it.

    Outputs may be left out: the builder then takes names, dtypes and dims from the exported graph.
    """

    name: str
    source: Source
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec] = field(default_factory=dict)
    dims: Mapping[str, Dim] = field(default_factory=dict)
    samples: str | None = None
    metric: str | None = None
    opset: int | None = None
    parity: Tolerance = field(default_factory=Tolerance)
    serving: Serving = field(default_factory=Serving)

    def __post_init__(self) -> None:
        check_model_name(self.name)
        if not self.inputs:
            raise ValueError("inputs: a model has at least one")
        self._check_tensors()
        self._check_dims()
        self._check_batch_dim()
        self._check_batch_sizes()
        self._check_effect()

    def _check_dims(self) -> None:
        for name in self.dims:
            if not name.isidentifier():
                raise ValueError(f"dims.{name}: the name of a dim has letters, digits and '_' only")
        used = {size for _, _, tensor in self.tensors() for size in tensor.shape}
        unused = [name for name in self.dims if name not in used]
        if unused and self.outputs:
            raise ValueError(f"dims.{unused[0]}: no tensor has a dim of this name")

    def _check_tensors(self) -> None:
        both = self.inputs.keys() & self.outputs.keys()
        if both:
            raise ValueError(f"{', '.join(sorted(both))}: the same name for an input and an output")
        for kind, name, tensor in self.tensors():
            if not _TENSOR_NAME.fullmatch(name):
                raise ValueError(f"{kind}.{name}: a tensor name has letters, digits and _ . : / - only")
            for size in tensor.shape:
                if isinstance(size, str) and size not in self.dims:
                    known = ", ".join(self.dims) or "none"
                    raise ValueError(f"{kind}.{name}: dim {size!r} is missing from dims (there: {known})")

    def _check_batch_dim(self) -> None:
        """Triton batches over the first dim of every tensor, or not at all."""
        if BATCH not in self.dims:
            return
        for kind, name, tensor in self.tensors():
            if tensor.shape[:1] != (BATCH,) or BATCH in tensor.shape[1:]:
                raise ValueError(
                    f"{kind}.{name}: shape {list(tensor.shape)} must start with {BATCH!r} and have it once, as Triton "
                    f"batches over the first dim of every tensor; rename the dim if it is no batch"
                )

    def _check_batch_sizes(self) -> None:
        batching, warmup = self.serving.dynamic_batching, self.serving.warmup
        limit = max(1, self.max_batch_size)
        if batching and not self.batches and (batching.preferred_batch_sizes or batching.max_queue_delay_us):
            raise ValueError(f"serving.dynamic_batching has no effect: the model has no dim {BATCH!r} that varies")
        asked = (batching.preferred_batch_sizes if batching else ()) + (warmup.batch_sizes if warmup else ())
        if asked and max(asked) > limit:
            raise ValueError(f"serving: batch size {max(asked)} is above the batch dim's maximum of {limit}")

    def _check_effect(self) -> None:
        """A setting that would do nothing is refused."""
        ranged = [name for name, tensor in self.outputs.items() if tensor.range is not None]
        if ranged:
            raise ValueError(f"outputs.{ranged[0]}: a range bounds made-up inputs, an output has none")
        if self.opset is not None and self.source.onnx is not None:
            raise ValueError("opset has no effect on an ONNX file, which has its own")
        if self.opset is not None and not OLDEST_OPSET <= self.opset <= NEWEST_OPSET:
            raise ValueError(f"opset {self.opset}: from {OLDEST_OPSET} to {NEWEST_OPSET}")

    def size(self, size: Size) -> Size:
        """The number that a size or a fixed dim stands for, or the name of a dim that varies."""
        dim = self.dims.get(size) if isinstance(size, str) else None
        return dim.min if dim is not None and dim.is_fixed else size

    def tensors(self) -> Iterator[tuple[str, str, TensorSpec]]:
        """Every tensor as (`inputs` or `outputs`, name, spec)."""
        for kind, group in (("inputs", self.inputs), ("outputs", self.outputs)):
            for name, tensor in group.items():
                yield kind, name, tensor

    @property
    def max_batch_size(self) -> int:
        """The batch dim's maximum, or 0 for a model without one that varies."""
        dim = self.dims.get(BATCH)
        return 0 if dim is None or dim.is_fixed else dim.max

    @property
    def batches(self) -> bool:
        """True when the first dim of every tensor is the batch."""
        return self.max_batch_size > 0
