"""The one module that imports ONNX Runtime: open a model, describe it, run it.

ONNX Runtime's exceptions leave here as LoadError (from `open_model`) or RunError (from `Model.run`), with the wording
of the native backend: `onnx runtime error 2: …`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from .errors import Internal, RunError
from .options import Options
from .providers import CPU, Provider
from .tensors import Signature, TensorInfo, tensor_info

GRAPH_LEVELS = {
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "off": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
# ONNX Runtime's exceptions have no common base of their own; the binding adds Python's own for arguments.
ORT_ERRORS: tuple[type[Exception], ...] = (
    *(
        error
        for error in vars(ort_errors).values()
        if isinstance(error, type) and issubclass(error, Exception) and error is not Exception
    ),
    RuntimeError,
    TypeError,
    ValueError,
)
ERROR_FORM = re.compile(r"\[ONNXRuntimeError\] : (?P<code>\d+) : \w+ : (?P<text>.*)", re.DOTALL)
# The codes for what a request can get wrong: FAIL, INVALID_ARGUMENT, RUNTIME_EXCEPTION.
REQUEST_CODES = frozenset({1, 2, 6})
MEMORY = re.compile(r"allocate memory|out of memory|bad_?alloc", re.IGNORECASE)


class Model:
    """An open model; `outputs` are the names to compute, in the order in which `run` returns them."""

    def __init__(self, session: ort.InferenceSession, options: Options) -> None:
        self._session = session
        self._run_options = run_options(options)
        self.signature = read_signature(session)

    @property
    def provider(self) -> str:
        """The execution provider that takes the nodes first."""
        return str(self._session.get_providers()[0])

    def run(self, outputs: Sequence[str], feed: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Run the model once; numeric inputs are read in place. Raises RunError."""
        if not outputs:  # to ONNX Runtime an empty list means all of them
            return []
        try:
            results: list[npt.NDArray[Any]] = self._session.run(outputs, feed, self._run_options)
        except UnicodeDecodeError as error:  # an output of the model, which no request can help
            raise RunError(f"a string output is not UTF-8: {error}", request_at_fault=False) from error
        except ORT_ERRORS as error:
            code, text = read_error(error)
            blame = code in REQUEST_CODES and MEMORY.search(text) is None
            raise RunError(native_text(code, text), request_at_fault=blame) from error
        return results


def open_model(path: Path, options: Options, providers: Sequence[Provider]) -> Model:
    """Open an ONNX file; raises Internal if ONNX Runtime refuses it or leaves out a provider that was asked for."""
    try:
        session = ort.InferenceSession(
            str(path),
            session_options(options),
            providers=[provider.name for provider in providers],
            provider_options=[dict(provider.options) for provider in providers],
        )
    except ORT_ERRORS as error:
        raise Internal(native_text(*read_error(error))) from error
    missing = {provider.name for provider in providers} - set(session.get_providers())
    if missing:
        raise Internal(
            f"ONNX Runtime could not start {', '.join(sorted(missing))} and would run on {session.get_providers()[0]}: "
            "its log says which library it misses; install that, or set the instance_group to KIND_CPU"
        )
    return Model(session, options)


def describe_model(path: Path, options: Options) -> Signature:
    """Read inputs and outputs of an ONNX file, on one thread and without optimising it."""
    return open_model(path, replace(options, graph_level="off", intra_op_threads=1), [Provider(CPU)]).signature


def available_providers() -> list[str]:
    """Return the execution providers of this ONNX Runtime."""
    return list(ort.get_available_providers())


def runtime_version() -> str:
    """Return ONNX Runtime's version."""
    return str(ort.__version__)


def session_options(options: Options) -> ort.SessionOptions:
    """Translate Options."""
    made = ort.SessionOptions()
    made.graph_optimization_level = GRAPH_LEVELS[options.graph_level]
    made.execution_mode = ort.ExecutionMode.ORT_PARALLEL if options.parallel else ort.ExecutionMode.ORT_SEQUENTIAL
    made.intra_op_num_threads = options.intra_op_threads
    made.inter_op_num_threads = options.inter_op_threads
    if options.mem_arena is not None:
        made.enable_cpu_mem_arena = options.mem_arena
    if options.mem_pattern is not None:
        made.enable_mem_pattern = options.mem_pattern
    for name, value in options.session_entries.items():
        made.add_session_config_entry(name, value)
    for library in options.custom_op_libraries:
        made.register_custom_ops_library(library)
    return made


def run_options(options: Options) -> ort.RunOptions | None:
    """Translate the settings of a run, if there are any."""
    if not options.run_entries:
        return None
    made = ort.RunOptions()
    for name, value in options.run_entries.items():
        made.add_run_config_entry(name, value)
    return made


def read_signature(session: ort.InferenceSession) -> Signature:
    """Describe an open session's tensors; raises Unsupported if one is not a tensor."""
    return Signature(
        inputs=tensors(session.get_inputs()),
        outputs=tensors(session.get_outputs()),
        initializers=tensors(session.get_overridable_initializers()),
    )


def tensors(nodes: Sequence[Any]) -> dict[str, TensorInfo]:
    """Describe ONNX Runtime's nodes."""
    return {node.name: tensor_info(node.name, node.type, node.shape) for node in nodes}


def read_error(error: Exception) -> tuple[int, str]:
    """Return code and text of an ONNX Runtime error; those of the Python binding count as invalid arguments."""
    match = ERROR_FORM.match(str(error))
    return (int(match["code"]), match["text"]) if match else (2, str(error))


def native_text(code: int, text: str) -> str:
    """Word an ONNX Runtime error as the native backend does."""
    return f"onnx runtime error {code}: {text}"
