"""The text of a config.pbtxt as Triton's real ModelConfig message."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format

from tritonsmith.errors import ConfigError


def parse_config(text: str, *, origin: str = "config.pbtxt", allow_unknown: bool = False) -> Any:
    """The ModelConfig message of a config.pbtxt; ConfigError with line and column where it does not parse.

    With `allow_unknown` fields that only a newer Triton knows pass.
    """
    from tritonclient.grpc import model_config_pb2

    try:
        return text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=allow_unknown)
    except text_format.ParseError as error:
        line, column = error.GetLine() or 0, error.GetColumn() or 0
        said = str(error).partition(" : ")[2] or str(error)
        raise ConfigError(f"{origin}:{line}:{column}: {said}") from error
