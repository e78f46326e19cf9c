"""config.pbtxt: golden text for each backend and host, and equality after parsing with Triton's own proto."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from tests.tritonsmith.specs import ENCODER, batched_spec, fixed_spec
from tritonsmith.config_text import parse_config
from tritonsmith.errors import ConfigError
from tritonsmith.pbtxt import Host, render_config
from tritonsmith.spec import Backend, Dim, DynamicBatching, Instances, Serving, Spec, TensorSpec, VersionPolicy, Warmup
from tritonsmith.spec_file import parse_spec

GOLDEN = Path(__file__).parent / "golden"
COMBINATIONS: list[tuple[Backend, Host]] = [
    ("onnxruntime", "auto"),
    ("onnxruntime", "cpu"),
    ("onnxruntime", "gpu"),
    ("tensorrt", "gpu"),
    ("pytorch", "cpu"),
    ("pytorch", "gpu"),
    ("python", "cpu"),
]


@pytest.mark.parametrize(("backend", "host"), COMBINATIONS)
def test_the_text_is_the_golden_one(backend: Backend, host: Host) -> None:
    text = render_config(parse_spec(ENCODER), host=host, backend=backend)
    assert text == (GOLDEN / f"encoder.{backend}.{host}.pbtxt").read_text()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.pbtxt")), ids=lambda path: path.name)
def test_serializing_and_parsing_again_changes_nothing(path: Path) -> None:
    config = parse_config(path.read_text())
    assert parse_config(text_format.MessageToString(config)) == config


def test_a_model_without_batch_says_max_batch_size_zero_and_has_no_batcher() -> None:
    text = render_config(fixed_spec())
    assert "max_batch_size: 0\n" in text  # a serialized proto would leave it out, and Triton might then complete it
    assert not parse_config(text).HasField("dynamic_batching")
    assert list(parse_config(text).input[0].dims) == [3, 4]


def test_a_row_that_is_a_scalar_becomes_one_value_with_a_reshape() -> None:
    output = parse_config(render_config(parse_spec(ENCODER))).output[1]
    assert (output.name, list(output.dims), list(output.reshape.shape)) == ("score", [1], [])
    assert output.HasField("reshape")


def test_several_instances_get_one_thread_each_unless_told_otherwise() -> None:
    spec = batched_spec()
    parameters = {
        count: dict(parse_config(render_config(_with(spec, Instances(count=count)))).parameters) for count in (1, 2)
    }
    assert parameters[1] == {}
    assert parameters[2]["intra_op_thread_count"].string_value == "1"


def test_threads_are_no_business_of_a_gpu() -> None:
    config = parse_config(render_config(_with(batched_spec(), Instances(threads=4, gpus=(1,))), host="gpu"))
    assert dict(config.parameters) == {}
    assert list(config.instance_group[0].gpus) == [1]
    assert config.instance_group[0].kind == model_config_pb2.ModelInstanceGroup.Kind.KIND_GPU


def _with(spec: Spec, instances: Instances) -> Spec:
    return replace(spec, serving=replace(spec.serving, instances=instances))


@pytest.mark.parametrize(
    ("backend", "host", "message"),
    [
        ("tensorrt", "cpu", "runs on GPUs only"),
        ("python", "cpu", "threads has no effect with backend 'python'"),
    ],
)
def test_what_a_backend_cannot_do_is_refused(backend: Backend, host: Host, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        render_config(_with(batched_spec(), Instances(threads=2)), host=host, backend=backend)


def test_a_scalar_without_batch_is_refused() -> None:
    spec = replace(fixed_spec(), outputs={"y": TensorSpec(dtype="float32", shape=())})
    with pytest.raises(ConfigError, match=r"outputs\.y is a scalar"):
        render_config(spec)


def test_a_syntax_error_names_line_and_column() -> None:
    with pytest.raises(ConfigError, match=r"^my\.pbtxt:2:1: .*colour"):
        parse_config('name: "x"\ncolour: 3\n', origin="my.pbtxt")


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
sizes = st.integers(1, 64)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 4),
    maximum=st.integers(2, 64),
    delay=st.integers(0, 10**6),
    policy=st.sampled_from([None, VersionPolicy(all=True), VersionPolicy(latest=3), VersionPolicy(specific=(1, 4))]),
    warmup=st.booleans(),
    parameters=st.dictionaries(names, names, max_size=3),
    shape=st.lists(st.one_of(sizes, st.just("width")), max_size=3),
)
def test_any_valid_spec_renders_and_says_what_it_says(
    count: int,
    maximum: int,
    delay: int,
    policy: VersionPolicy | None,
    warmup: bool,
    parameters: dict[str, str],
    shape: list[int | str],
) -> None:
    serving = Serving(
        dynamic_batching=DynamicBatching(max_queue_delay_us=delay, preferred_batch_sizes=(maximum,)),
        instances=Instances(count=count),
        version_policy=policy,
        warmup=Warmup(batch_sizes=(1, maximum)) if warmup else None,
        parameters=parameters,
    )
    tensor = TensorSpec(dtype="float32", shape=("batch", *shape))
    dims = {"batch": Dim(opt=1, max=maximum), **({"width": Dim(opt=5, max=9)} if "width" in shape else {})}
    spec = replace(batched_spec(maximum=maximum), inputs={"x": tensor}, dims=dims, serving=serving)
    config = parse_config(render_config(spec))
    assert config.dynamic_batching.max_queue_delay_microseconds == delay
    assert list(config.dynamic_batching.preferred_batch_size) == [maximum]
    assert {key: value.string_value for key, value in config.parameters.items()} | parameters == {
        key: value.string_value for key, value in config.parameters.items()
    }
    assert config.instance_group[0].count == count
    assert [sample.batch_size for sample in config.model_warmup] == ([1, maximum] if warmup else [])
    expected = [size if isinstance(size, int) else 5 for size in shape] or [1]
    assert all(list(sample.inputs["x"].dims) == expected for sample in config.model_warmup)
