"""A temporary model repository and a short way to describe models in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tritonsmith.repository import ModelFolder

SPEC = """\
name: {name}
source: {source}
inputs: {{x: {{dtype: float32, shape: [batch, 3]}}}}
outputs: {{y: {{dtype: float32, shape: [batch, 2]}}}}
dims: {{batch: {{opt: 4, max: 8}}}}
samples: "tests.builders.models:few_samples"
"""

MakeModel = Callable[..., ModelFolder]


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """`make_model("mlp")` writes a spec whose factory is tests.builders.models:mlp; `change` edits the text."""

    def make(factory: str = "mlp", *, source: str | None = None, change: tuple[str, str] = ("", "")) -> ModelFolder:
        folder = ModelFolder(tmp_path / "repository" / "small")
        folder.root.mkdir(parents=True, exist_ok=True)
        text = SPEC.format(name="small", source=source or f'{{factory: "tests.builders.models:{factory}"}}')
        assert change[0] in text
        folder.spec.write_text(text.replace(*change))
        return folder

    return make
