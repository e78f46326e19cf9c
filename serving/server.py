"""A running Triton: started, awaited, asked to load and unload, and stopped with everything that belongs to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from serving.backend_directory import lay_backends
from serving.command import ModelControl, ServerOptions, server_command
from serving.control import Control
from serving.diagnosis import how_it_ended, model_refused, not_ready, server_ended
from serving.installation import Installation, find_triton
from serving.log import has_given_up, models_loaded, models_loading
from serving.log_file import LogFile
from serving.ports import choose_ports
from serving.preflight import check_model, check_numpy, check_shared_memory, loadable_models
from serving.process import GuardedProcess
from serving.workplace import Workplace, new_workplace, readable_temporary_errors
from tritonsmith.errors import RepositoryError, RequestError, ServerError
from tritonsmith.repository import ModelFolder
from tritonsmith.runtime import gpus, package_version

_POLL_S = 0.05
_HELD = ("READY", "LOADING", "UNLOADING")
_TOLERANT = "--exit-on-error=false"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the start has come: which models are ready, which still load, and how long it took so far."""

    loaded: tuple[str, ...]
    loading: tuple[str, ...]
    seconds: float


class TritonServer:
    """A Triton that is ready; a context manager that stops it.

    Attributes: `http_url` and `grpc_url` (host:port), `metrics_url`, `log_path`, `version`, `pid`.
    """

    def __init__(self, *, options: ServerOptions, process: GuardedProcess, log: LogFile, workplace: Workplace) -> None:
        """For `start`, which is the way to get one."""
        self._options, self._process, self._log, self._workplace = options, process, log, workplace
        host = _reachable(options.address)
        self.http_url = f"{host}:{options.http_port}"
        self.grpc_url = f"{host}:{options.grpc_port}"
        self.metrics_url = f"http://{host}:{options.metrics_port}/metrics"
        self.log_path = log.path
        self.pid = process.pid
        self.version = ""
        self.control = Control(self.http_url)

    @classmethod
    def start(
        cls,
        repository: Path,
        *,
        http_port: int = 0,
        grpc_port: int = 0,
        metrics_port: int = 0,
        address: str = "127.0.0.1",
        model_control: ModelControl = "none",
        models: tuple[str, ...] = (),
        config_name: str | None = None,
        log_path: Path | None = None,
        ready_timeout_s: float = 120.0,
        exit_timeout_s: int = 30,
        extra_args: tuple[str, ...] = (),
        installation: Installation | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> TritonServer:
        """Start a Triton on `repository` and wait until it is ready.

        A port of 0 is chosen free. With `model_control` "none" it serves `models`, or all that are built, and nothing
        can be changed over the network; with "explicit" it loads `models` and takes `load` and `unload`. `config_name`
        picks configs/NAME.pbtxt (cpu or gpu; by default what this machine is). Without `log_path` the log goes with
        the server. Raises ServerError, RepositoryError or ConfigError; nothing is left running then.
        """
        installation, models = installation or find_triton(), tuple(dict.fromkeys(models))
        check_numpy(installation, package_version("numpy"))
        check_shared_memory()
        explicit = model_control == "explicit"
        options = ServerOptions(
            repository=str(repository.resolve()),
            http_port=http_port,
            grpc_port=grpc_port,
            metrics_port=metrics_port,
            address=address,
            model_control=model_control,
            models=models if explicit else (),
            config_name=config_name or default_config_name(installation),
            exit_timeout_s=exit_timeout_s,
            strict_readiness=not explicit,
            extra=extra_args,
        )
        folders = _folders(repository, models, options)
        server = cls._launch(options, repository, folders, installation, log_path)
        try:
            server._wait_until_ready(ready_timeout_s, on_progress)
        except BaseException:
            server.kill()
            raise
        return server

    @classmethod
    def _launch(
        cls,
        wanted: ServerOptions,
        repository: Path,
        folders: tuple[ModelFolder, ...],
        installation: Installation,
        log_path: Path | None,
    ) -> TritonServer:
        """Choose the ports, lay the temporary folders and start the process."""
        ports = choose_ports((wanted.http_port, wanted.grpc_port, wanted.metrics_port), wanted.address)
        workplace = new_workplace(os.getpid())
        try:
            with readable_temporary_errors():
                served = repository.resolve() if wanted.explicit else workplace.lay_models(folders)
                backends = lay_backends(installation, workplace.backends)
            options = replace(
                wanted,
                repository=str(served),
                http_port=ports[0],
                grpc_port=ports[1],
                metrics_port=ports[2],
                server_id=workplace.shm_prefix.rstrip("-"),
                backend_directory=str(backends),
                cache_directory=str(installation.caches),
                shm_prefix=workplace.shm_prefix,
            )
            log = LogFile(log_path or workplace.log, alias=options.repository, name=str(repository))
            process = GuardedProcess(
                server_command(options, str(installation.binary)),
                environment=installation.environment(),
                log=log,
                grace_s=options.exit_timeout_s + 5,
                workplace=workplace,
            )
        except BaseException:
            workplace.remove()
            raise
        return cls(options=options, process=process, log=log, workplace=workplace)

    def _wait_until_ready(self, timeout_s: float, on_progress: Callable[[Progress], None] | None) -> None:
        began, seen, given_up = time.monotonic(), None, False
        loaded: tuple[str, ...] = ()
        loading: tuple[str, ...] = ()
        while not self.control.is_ready(self._options.server_id):
            seconds = time.monotonic() - began
            code, text = self._process.exit_code, self._log.text()
            if text is not seen:  # a log may be long, and most of the time nothing came
                seen, given_up = text, has_given_up(text) and _TOLERANT not in self._options.extra
                loaded, loading = tuple(models_loaded(text)), tuple(models_loading(text))
            if code is not None or given_up:
                raise server_ended(text, code or 1)
            if seconds > timeout_s:
                raise not_ready(text, timeout_s)
            if on_progress is not None:
                on_progress(Progress(loaded, loading, seconds))
            time.sleep(_POLL_S)
        self.version = self.control.version()

    def load(self, name: str, *, timeout_s: float = 120.0) -> None:
        """Load or reload a model (explicit mode); ServerError with the true reason when it does not load."""
        folder = ModelFolder(Path(self._options.repository) / name)
        if folder.root.is_dir():
            check_model(folder, self._options.config_name)
        before = self._log.mark()
        try:
            said = self.control.load(name, timeout_s=timeout_s)
        except RequestError as error:
            raise self._dead_or(error) from error
        if said is not None:
            raise model_refused(name, said, self._log.text(before))

    def unload(self, name: str, *, timeout_s: float = 30.0) -> None:
        """Unload a model (explicit mode) and wait until it is gone; ServerError when the server refuses."""
        said = self.control.unload(name, timeout_s=timeout_s)
        if said is not None:
            raise ServerError(f"model {name!r} was not unloaded: {said}")
        deadline = time.monotonic() + timeout_s
        while any(row["name"] == name and row.get("state") in _HELD for row in self.control.models()):
            if time.monotonic() > deadline:
                raise ServerError(f"model {name!r} is still being unloaded after {timeout_s:g} s")
            time.sleep(_POLL_S)

    def _dead_or(self, error: RequestError) -> RequestError | ServerError:
        """The reason for a call that failed: the server's end, if it ends within a second."""
        deadline = time.monotonic() + 1
        while self.is_alive() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        code = self._process.exit_code
        return error if code is None else server_ended(self._log.text(), code)

    def is_alive(self) -> bool:
        """True while the server runs."""
        return self._process.exit_code is None

    def wait(self) -> None:
        """Block for as long as the server runs; ServerError when it ends by itself."""
        while (code := self._process.exit_code) is None:
            time.sleep(0.2)
        raise ServerError(
            f"Triton {how_it_ended(code)} while it was serving", hint="start it again with --log FILE to see why"
        )

    def stop(self) -> None:
        """Let open requests end and stop the server; nothing of it remains. May be called again."""
        self._process.stop()
        self._tidy()

    def kill(self) -> None:
        """Stop the server at once; nothing of it remains."""
        self._process.kill()
        self._tidy()

    def _tidy(self) -> None:
        self._log.close()
        self._workplace.remove()

    def __enter__(self) -> TritonServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def default_config_name(installation: Installation) -> str:
    """`gpu` where the driver lists a GPU that this Triton's backends can use, else `cpu`."""
    usable = installation.origin == "path" or package_version("onnxruntime-gpu") is not None
    return "gpu" if usable and gpus() else "cpu"


def _folders(repository: Path, models: tuple[str, ...], options: ServerOptions) -> tuple[ModelFolder, ...]:
    """The models that are loaded at the start, each checked."""
    if options.explicit and not models:
        if not repository.is_dir():
            raise RepositoryError(f"there is no model repository at {repository}")
        return ()
    folders = loadable_models(repository, models).models
    for folder in folders:
        check_model(folder, options.config_name)
    return folders


def _reachable(address: str) -> str:
    """An address to reach the server at from this machine."""
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # compared with, not bound to
    return local.get(address, f"[{address}]" if ":" in address else address)
