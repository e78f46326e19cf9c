"""The one module that imports `triton_python_backend_utils`: Triton's calls in, tensors and errors out.

`initialize` opens the model as the config says, `execute` hands requests to the Batcher and wraps what comes back.
ONNX Runtime is imported only when a model is opened, so a complete config costs Triton's auto-complete process nothing.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import triton_python_backend_utils as pb_utils

from .autocomplete import complete_config, is_complete
from .batching import Array, Batcher, Failure, Feed, Result, Run
from .contract import check_contract, configured_dims
from .errors import Internal, LoadError, RunError
from .limits import check_limits
from .model_file import find_model_file
from .options import read_options
from .providers import choose_providers
from .shapes import ShapeRules
from .strings import decode_strings
from .tensors import Signature


class PbTensor(Protocol):
    """The part of `pb_utils.Tensor` that is used here."""

    def name(self) -> str: ...
    def as_numpy(self) -> Array: ...


class PbRequest(Protocol):
    """The part of `pb_utils.InferenceRequest` that is used here."""

    def inputs(self) -> list[PbTensor]: ...
    def requested_output_names(self) -> set[str]: ...


class PbConfig(Protocol):
    """The part of `pb_utils.ModelConfig` that is used here."""

    def as_dict(self) -> dict[str, Any]: ...


class TritonPythonModel:
    """One instance of one model, as Triton's Python backend expects it."""

    @staticmethod
    def auto_complete_config(auto_complete_model_config: PbConfig) -> PbConfig:
        """Fill a partial config from the model; raises LoadError."""
        config = auto_complete_model_config.as_dict()  # the object's own dict: changes are what Triton reads back
        try:
            options = read_options(config)
            if not is_complete(config):
                path = find_model_file(config, Path(pb_utils.get_model_dir()))
                complete_config(config, import_session().describe_model(path, options))
        except LoadError as error:
            raise error.with_traceback(None) from None  # Triton prints every frame after the text
        return auto_complete_model_config

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the model and check that the config fits it; raises LoadError."""
        config = json.loads(args["model_config"])
        try:
            self._open(config, args)
        except LoadError as error:
            raise error.with_traceback(None) from None

    def _open(self, config: Mapping[str, Any], args: Mapping[str, str]) -> None:
        options = read_options(config)
        path = find_model_file(config, Path(args["model_repository"], args["model_version"]))
        onnx = import_session()
        providers = choose_providers(
            config,
            kind=args["model_instance_kind"],
            device=int(args["model_instance_device_id"]),
            available=onnx.available_providers(),
        )
        model = onnx.open_model(path, options, providers)
        check_contract(config, model.signature)
        check_limits(config)
        self._batcher = make_batcher(config, model.signature, model.run)
        self._has_strings = any(info.data_type == "TYPE_STRING" for info in model.signature.takes.values())
        self._all_outputs = len(config["output"]) == 1  # then no request can ask for less
        if options.shares_session:
            warn(config["name"], "share_session_between_instances has no effect: each instance is a process of its own")
        log_load(
            f"'{args['model_instance_name']}' runs {path} on {model.provider} with "
            f"{options.intra_op_threads or 'all'} intra-op threads, ONNX Runtime {onnx.runtime_version()}"
        )

    def execute(self, requests: Sequence[PbRequest]) -> list[Any]:
        """Answer every request, each with its outputs or with its own error."""
        try:
            return self._answer(requests)
        except Exception as error:  # noqa: BLE001 -- the one boundary of a request, reasoned below
            # Whatever breaks while one request is read or answered must not take its batch mates along,
            # and Triton waits forever for a response that is missing.
            if len(requests) > 1:
                return [self.execute([request])[0] for request in requests]
            return [respond(blame(error))]

    def _answer(self, requests: Sequence[PbRequest]) -> list[Any]:
        feeds = [{tensor.name(): tensor.as_numpy() for tensor in request.inputs()} for request in requests]
        wanted = None if self._all_outputs else [request.requested_output_names() for request in requests]
        if self._has_strings:
            return [respond(result) for result in self._run_decoded(feeds, wanted)]
        return [respond(result) for result in self._batcher.run_all(feeds, wanted)]

    def _run_decoded(self, feeds: Sequence[Feed], wanted: Sequence[set[str]] | None) -> list[Result]:
        """Run the feeds whose strings can be read; the others fail, each with its own reason."""
        decoded = [decode_feed(feed) for feed in feeds]
        good = [at for at, feed in enumerate(decoded) if not isinstance(feed, Failure)]
        results: dict[int, Result] = {at: feed for at, feed in enumerate(decoded) if isinstance(feed, Failure)}
        if good:
            readable = [feed for feed in decoded if not isinstance(feed, Failure)]
            answers = self._batcher.run_all(readable, None if wanted is None else [wanted[at] for at in good])
            results.update(zip(good, answers, strict=True))
        return [results[at] for at in range(len(feeds))]

    def is_ready(self) -> bool:
        """Tell Triton (26.03 and later) that the model can run."""
        return hasattr(self, "_batcher")

    def finalize(self) -> None:
        """Close the model."""
        del self._batcher


def decode_feed(feed: Feed) -> Feed | Failure:
    """Turn the bytes of a feed's strings into text, or say why that cannot be."""
    try:
        return {name: decode_strings(name, array) for name, array in feed.items()}
    except RunError as error:
        return Failure(str(error), error.request_at_fault)


def import_session() -> ModuleType:
    """Import ONNX Runtime; raises Internal with the fix if it is not there or something else has its name."""
    try:
        from . import session
    except (ImportError, AttributeError) as error:
        raise Internal(
            f"cannot import onnxruntime in the Python of Triton's stub ({sys.prefix}): {error}; "
            "pip install onnxruntime there, and start tritonserver with its bin directory first on PATH"
        ) from error
    return session


def log_load(summary: str, numpy_version: str = np.__version__) -> None:
    """Log one line about a model that was loaded, and warn of the combination that answers with empty tensors."""
    pb_utils.Logger.log_info(f"portable onnxruntime backend: {summary}, numpy {numpy_version}")
    if int(numpy_version.partition(".")[0]) >= 2:
        pb_utils.Logger.log_warn(
            f"numpy {numpy_version}: a Triton older than 24.11 answers with empty tensors unless numpy is below 2"
        )


def make_batcher(config: Mapping[str, Any], signature: Signature, run: Run) -> Batcher:
    """Build the Batcher for the outputs that the config names."""
    batched = config["max_batch_size"] > 0
    dims = {entry["name"]: configured_dims(entry) for entry in config["output"]}
    scalars = {name: shape for name, shape in dims.items() if not signature.outputs[name].shape}
    rules = ShapeRules(config["name"], signature.takes, scalars, batched=batched)
    return Batcher(run, rules, list(dims), batched=batched, warn=lambda text: warn(config["name"], text))


def warn(model: str, text: str) -> None:
    """Log a warning about a model."""
    pb_utils.Logger.log_warn(f"portable onnxruntime backend: model '{model}': {text}")


def blame(error: Exception) -> Failure:
    """Word what broke a request; all but a bad request is logged with its traceback."""
    if isinstance(error, RunError):
        return Failure(str(error), error.request_at_fault)
    pb_utils.Logger.log_error("".join(traceback.format_exception(error)))
    return Failure(f"{type(error).__name__}: {error}", request_at_fault=False)


def respond(result: Result) -> Any:
    """Wrap one result as Triton's response."""
    if isinstance(result, Failure):
        code = pb_utils.TritonError.INVALID_ARG if result.request_at_fault else pb_utils.TritonError.INTERNAL
        return pb_utils.InferenceResponse([], pb_utils.TritonError(result.text, code))
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in result.items()])
