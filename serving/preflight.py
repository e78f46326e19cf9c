"""Before the start: what would make the server hang, abort or answer wrongly is found here, in one line with the fix.

Triton 2.51 hangs for ever on a missing model.py, aborts on a config.pbtxt that is a folder, and with numpy 2 its Python
backend sends empty outputs with status 200.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.installation import Installation
from serving.workplace import SHARED_MEMORY
from tritonsmith.config_text import parse_config
from tritonsmith.errors import ConfigError, RepositoryError, ServerError
from tritonsmith.repository import ModelFolder, model_folders

SHM_LEAST, SHM_ENOUGH = 8 << 20, 64 << 20
"""Bytes of free shared memory: below the first no Python model starts, below the second large requests may fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loadable:
    """The models to serve, and those passed over because they are not built."""

    models: tuple[ModelFolder, ...]
    not_built: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models to serve."""
        return tuple(folder.root.name for folder in self.models)


def loadable_models(repository: Path, wanted: tuple[str, ...] = ()) -> Loadable:
    """The models of `repository` that can be served, or those of `wanted`; RepositoryError when there is none."""
    folders = {folder.root.name: folder for folder in model_folders(repository) if not folder.root.name.startswith(".")}
    unbuilt = [path.parent.name for path in sorted(repository.glob("*/spec.yaml")) if path.parent.name not in folders]
    for name in wanted:
        if name not in folders:
            raise _not_there(repository, name, tuple(folders), unbuilt)
    if not folders:
        fix = (
            f"build one: build-engine {unbuilt[0]}" if unbuilt else "name another repository, or build a model into it"
        )
        raise RepositoryError(f"{repository} holds no model that is built", hint=fix)
    chosen = tuple(dict.fromkeys(wanted)) or tuple(folders)
    return Loadable(models=tuple(folders[name] for name in chosen), not_built=tuple(unbuilt))


def _not_there(repository: Path, name: str, known: tuple[str, ...], unbuilt: list[str]) -> RepositoryError:
    if name in unbuilt:
        return RepositoryError(f"model {name!r} is not built yet", hint=f"build-engine {name}")
    return RepositoryError(f"there is no model {name!r} in {repository}", hint=f"there: {', '.join(known) or 'none'}")


def check_model(folder: ModelFolder, config_name: str) -> None:
    """Refuse a model that would hang or crash the server: an unreadable config, a Python model without its file."""
    if not os.access(folder.root, os.R_OK | os.X_OK):
        raise RepositoryError(f"cannot read {folder.root}: permission denied", hint=f"chmod -R a+rX {folder.root}")
    config = read_config(folder, config_name)
    if config is None or config.backend != "python":
        return
    filename = config.default_model_filename or "model.py"
    for version in served_versions(folder.versions(), config):
        path = folder.version(version) / filename
        if not path.is_file():
            raise RepositoryError(
                f"model {folder.root.name!r} has no {path.relative_to(folder.root)}: Triton would wait for it for ever",
                hint=f"put the file there, or name another with default_model_filename in {folder.config.name}",
            )


def read_config(folder: ModelFolder, config_name: str) -> Any:
    """The ModelConfig that the server will read: configs/NAME.pbtxt, else config.pbtxt; None when there is neither.

    Unknown fields pass, since the server may be newer; text that does not parse is a ConfigError with line and column.
    """
    path = next((path for path in (folder.named_config(config_name), folder.config) if path.exists()), None)
    if path is None:
        return None
    again = f"build again: build-engine {folder.root.name}"
    if not path.is_file():
        raise ConfigError(f"{path} is not a file", hint=f"remove it and {again}")
    try:
        return parse_config(path.read_text(encoding="utf-8"), origin=str(path), allow_unknown=True)
    except ConfigError as error:
        raise ConfigError(error.message, hint=f"correct that line, or {again}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not text", hint=again) from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint=f"chmod a+r {path}") from error


def served_versions(versions: list[int], config: Any) -> list[int]:
    """The versions that the config's policy selects out of those that are there; the latest one by default."""
    policy = config.version_policy
    if policy.HasField("all"):
        return versions
    if policy.HasField("specific"):
        return [version for version in versions if version in policy.specific.versions]
    latest = policy.latest.num_versions if policy.HasField("latest") else 1
    return versions[-latest:] if latest else []


def check_numpy(installation: Installation, numpy_version: str | None) -> None:
    """Refuse numpy 2 with the bundled Triton: its Python backend was built for numpy 1 and sends empty outputs."""
    if installation.origin != "wheel":
        return
    if numpy_version is None:
        raise ServerError("numpy is not installed, and Triton's Python backend needs it", hint="pip install 'numpy<2'")
    if int(numpy_version.split(".")[0]) >= 2:
        raise ServerError(
            f"numpy {numpy_version} makes this Triton send empty outputs without an error; it needs numpy below 2",
            hint="pip install 'numpy<2'",
        )


def check_shared_memory(folder: Path = SHARED_MEMORY) -> str | None:
    """ServerError when Python models cannot start for want of shared memory; a remark when large requests may fail."""
    if not os.access(folder, os.W_OK):
        raise ServerError(
            f"{folder} cannot be written, and Triton's Python backend needs it", hint=f"chmod 1777 {folder}"
        )
    free = shutil.disk_usage(folder).free
    if free < SHM_LEAST:
        raise ServerError(
            f"{folder} has {free >> 20} MB free; Triton's Python backend needs at least {SHM_LEAST >> 20} MB",
            hint="free some of it (ls -la /dev/shm); in Docker: --shm-size=1g",
        )
    if free < SHM_ENOUGH:
        return f"{folder} has only {free >> 20} MB free: large requests may fail; in Docker: --shm-size=1g"
    return None
