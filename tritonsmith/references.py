"""Functions that a spec names as `package.module:function`: import them, call them, and show the user's own frames."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tritonsmith.errors import SpecError, TritonsmithError, UserCodeError

_OURS = Path(__file__).resolve().parent.parent
_NOT_THE_USERS = (
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    *(str(_OURS / name) for name in ("tritonsmith", "builders", "serving", "perf")),
)


def load_reference(reference: str, *, role: str) -> Callable[..., Any]:
    """The function that `reference` names; `role` (factory, samples, metric) is for the error message.

    The working directory is searched first. Raises SpecError for a malformed or missing name, UserCodeError when the
    module itself raises.
    """
    module_name, colon, attribute = reference.partition(":")
    if not (module_name and colon and attribute):
        raise SpecError(f"{role} {reference!r} is not of the form 'package.module:function'")
    if os.getcwd() not in sys.path:  # noqa: PTH109  # sys.path holds strings
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    module = run_user_code(lambda: importlib.import_module(module_name), what=f"{role} {reference!r}")
    function = getattr(module, attribute, None)
    if not callable(function):
        there = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise SpecError(
            f"{role} {reference!r}: module {module_name} has no function {attribute!r}",
            hint=f"there: {', '.join(there[:8]) or 'nothing callable'}",
        )
    return function  # type: ignore[no-any-return]  # getattr of a module


def run_user_code(call: Callable[[], Any], *, what: str) -> Any:
    """Run the user's code; whatever it raises becomes a UserCodeError with the user's frames as `details`."""
    try:
        return call()
    except TritonsmithError:
        raise
    except ModuleNotFoundError as error:
        raise UserCodeError(
            f"{what} needs the module {error.name!r}, which was not found from {Path.cwd()}",
            hint="run from the folder that holds the package, or pip install it",
            details=user_frames(error),
        ) from error
    except Exception as error:  # the boundary to the user's code: any error is theirs, with their frames
        said = str(error).strip().splitlines()
        raise UserCodeError(
            f"{what} raised {type(error).__name__}{': ' + said[0] if said else ''}",
            details=user_frames(error),
        ) from error


def user_frames(error: BaseException) -> tuple[str, ...]:
    """The frames of `error` that lie in the user's files, innermost last, as `at file:line in function: source`."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if is_user_file(frame.filename)]
    return tuple(f"at {_short(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}" for frame in theirs[-4:])


def is_user_file(filename: str) -> bool:
    """True for a source file that is neither the standard library's, nor an installed package's, nor ours."""
    return filename.endswith(".py") and not filename.startswith(("<", *_NOT_THE_USERS))


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
