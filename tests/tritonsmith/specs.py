"""Small specs that the tests of several packages share."""

from __future__ import annotations

from tritonsmith.spec import Dim, Source, Spec, TensorSpec

ENCODER = """\
name: encoder
source: {factory: "tests.builders.models:mlp"}
inputs:
  ids:  {dtype: int64, shape: [batch, sequence]}
  mask: {dtype: bool, shape: [batch, sequence]}
outputs:
  embedding: {dtype: float32, shape: [batch, 384]}
  score:     {dtype: float16, shape: [batch]}
dims:
  batch:    {min: 1, opt: 4, max: 16}
  sequence: {opt: 32, max: 128}
serving:
  dynamic_batching: {max_queue_delay_us: 2000, preferred_batch_sizes: [4, 8]}
  instances: {count: 2, gpus: [0, 1]}
  version_policy: {latest: 2}
  warmup: {batch_sizes: [1, 16], count: 3}
  parameters: {enable_mem_arena: "0"}
"""


def fixed_spec() -> Spec:
    """A model without dynamic dims, so without batching: float32 [3, 4] in and out."""
    tensor = TensorSpec(dtype="float32", shape=(3, 4))
    return Spec(
        name="fixed", source=Source(factory="tests.builders.models:mlp"), inputs={"x": tensor}, outputs={"y": tensor}
    )


def batched_spec(*, maximum: int = 8) -> Spec:
    """float32 [batch, 3] to float32 [batch, 2]."""
    return Spec(
        name="batched",
        source=Source(factory="tests.builders.models:mlp"),
        inputs={"x": TensorSpec(dtype="float32", shape=("batch", 3))},
        outputs={"y": TensorSpec(dtype="float32", shape=("batch", 2))},
        dims={"batch": Dim(opt=min(4, maximum), max=maximum)},
    )
