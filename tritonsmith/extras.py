"""Optional packages: import one, or say in one line which extra brings it."""

from __future__ import annotations

import importlib
from types import ModuleType

from tritonsmith.errors import MissingExtra


def require(module: str, *, extra: str) -> ModuleType:
    """Import `module`; MissingExtra, with the pip line for `extra`, when its package is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.split(".")[0]):
            raise  # installed, but one of its own dependencies is missing
        raise MissingExtra(module.split(".", maxsplit=1)[0], extra) from error
