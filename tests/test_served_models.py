"""The two example models, built and served by a real Triton: values, not status codes, over HTTP and gRPC."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from builders.build import build
from builders.manifest import read_manifest
from examples import digits, minilm
from serving.client import Client
from serving.server import TritonServer
from tritonsmith.address import Protocol
from tritonsmith.errors import RequestError
from tritonsmith.repository import ModelFolder
from tritonsmith.spec_file import read_spec

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(400)]
PROTOCOLS: tuple[Protocol, ...] = ("http", "grpc")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TritonServer, Path]]:
    """Both models, built from their specs, in a Triton of their own."""
    repository = tmp_path_factory.mktemp("models")
    for name in ("digits", "minilm"):
        folder = ModelFolder(repository / name)
        folder.root.mkdir()
        shutil.copy(Path("model_repository") / name / "spec.yaml", folder.spec)
        build(folder, read_spec(folder.spec))
    with TritonServer.start(repository) as running:
        yield running, repository


@pytest.fixture(params=PROTOCOLS)
def client(server: tuple[TritonServer, Path], request: pytest.FixtureRequest) -> Iterator[Client]:
    url = {"http": server[0].http_url, "grpc": server[0].grpc_url}[request.param]
    with Client(url, protocol=request.param) as connected:
        yield connected


@pytest.mark.parametrize(
    "texts",
    [
        ["Return the sum of a list of numbers."],
        ["short", "A sentence that is quite a bit longer than the other ones, so that they are padded.", "x"],
        ["every row the same"] * 32,
        ["word " * 400],
    ],
    ids=["one", "padded", "full batch", "truncated to 256 tokens"],
)
def test_minilm_answers_what_pytorch_computes(client: Client, texts: list[str]) -> None:
    request = minilm.encode(texts)
    answer: NDArray[Any] = client.infer("minilm", request)["embedding"]
    assert answer.shape == (len(texts), 384)
    np.testing.assert_allclose(answer, minilm.reference(request), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(answer, axis=1), 1, atol=1e-5)


def test_minilm_knows_which_sentences_belong_together(client: Client) -> None:
    texts = ["How do I open a file?", "Opening files for reading", "The cat sleeps on the sofa"]
    rows: NDArray[Any] = client.infer("minilm", minilm.encode(texts))["embedding"]
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_digits_answers_what_pytorch_computes(client: Client, batch: int) -> None:
    images = digits.data()[2][:batch]
    answer: NDArray[Any] = client.infer("digits", {"image": images})["logits"]
    assert answer.shape == (batch, 10)
    np.testing.assert_allclose(answer, digits.reference({"image": images}), atol=1e-4, rtol=1e-3)


def test_the_served_digits_have_the_accuracy_that_the_build_recorded(
    client: Client, server: tuple[TritonServer, Path]
) -> None:
    record = read_manifest(server[1] / "digits" / "build.json")
    assert record is not None
    assert record.metric is not None
    served = digits.score(lambda inputs: client.infer("digits", inputs))
    assert served == pytest.approx(record.metric.artifact)
    assert served > 0.97


def test_a_request_of_a_wrong_shape_is_refused_with_a_reason(client: Client) -> None:
    with pytest.raises(RequestError, match="image"):
        client.infer("digits", {"image": np.zeros((1, 1, 8, 9), np.float32)})
    with pytest.raises(RequestError, match="64"):
        client.infer("digits", {"image": np.zeros((65, 1, 8, 8), np.float32)})
