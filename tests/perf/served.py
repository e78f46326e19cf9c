"""Two small models for a real Triton: `napper` sleeps 4 ms and doubles, `mute` answers with an empty tensor.

The first value of a row chooses more: 0.3 s of sleep from 1000 on, a refusal below -1000.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_CONFIG = """\
backend: "python"
max_batch_size: 8
input [{ name: "x" data_type: TYPE_FP32 dims: [-1] }]
output [{ name: "y" data_type: TYPE_FP32 dims: [-1] }]
instance_group [{ kind: KIND_CPU count: 1 }]
dynamic_batching { max_queue_delay_microseconds: 500 }
"""

_MODEL = """\
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        time.sleep(max(0.3 if x.flat[0] >= 1000 else 0.004 for x in inputs))
        return [self.answer(x) for x in inputs]

    def answer(self, x):
        if x.flat[0] < -1000:
            refusal = pb_utils.TritonError("refused on purpose", pb_utils.TritonError.INVALID_ARG)
            return pb_utils.InferenceResponse(error=refusal)
        return pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("y", RESULT)])
"""

_RESULTS = {"napper": "x * 2", "mute": "x[:, :0]"}

_SPEC = """\
name: napper
source: {onnx: not-needed.onnx}
inputs: {x: {dtype: float32, shape: [batch, length]}}
dims: {batch: {opt: 4, max: 8}, length: {opt: 4, max: 16}}
samples: "tests.perf.served:samples"
serving:
  backend: python
  slo: {latency_p99_ms: 10000}
"""


def samples() -> Iterator[dict[str, NDArray[np.float32]]]:
    """Four rows of two lengths."""
    for length in (2, 3, 3, 2):
        yield {"x": np.full((1, length), length, np.float32)}


def write_repository(root: Path) -> Path:
    """Write both models below `root`; only `napper` has a spec."""
    for name, result in _RESULTS.items():
        version = root / name / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text(_MODEL.replace("RESULT", result))
        (root / name / "config.pbtxt").write_text(f'name: "{name}"\n{_CONFIG}')
    (root / "napper" / "spec.yaml").write_text(_SPEC)
    return root


COUNTER_CONFIG = """\
backend: "python"
max_batch_size: 8
input [{ name: "n" data_type: TYPE_INT64 dims: [1] reshape: { shape: [] } }]
output [{ name: "more" data_type: TYPE_INT64 dims: [1] reshape: { shape: [] } }]
instance_group [{ kind: KIND_CPU count: 1 }]
"""
"""A row is a number, which config.pbtxt has to call [1]; the model itself sees [batch]."""

COUNTER_CODE = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(request, "n").as_numpy()) for request in requests]

    def answer(self, n):
        assert n.ndim == 1, n.shape
        return pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("more", n + 1)])
"""


def counts() -> Iterator[dict[str, NDArray[np.int64]]]:
    """A request of two rows."""
    yield {"n": np.array([3, 4])}


def write_counter_spec(root: Path) -> None:
    """Write the spec of `counter` below `root`."""
    (root / "counter").mkdir(exist_ok=True)
    (root / "counter" / "spec.yaml").write_text(
        """\
name: counter
source: {onnx: not-needed.onnx}
inputs: {n: {dtype: int64, shape: [batch]}}
dims: {batch: {opt: 4, max: 8}}
samples: "tests.perf.served:counts"
serving: {backend: python}
"""
    )
