"""The model repository: where each file of a model lies, how a model is found by name, and how it is published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tritonsmith.errors import RepositoryError, SpecError
from tritonsmith.files import fsync_folder, fsync_tree, readable_disk_errors, replace_folder, uninterrupted
from tritonsmith.spec import check_model_name

DEFAULT_REPOSITORY = Path("model_repository")
SPEC, CONFIG, MANIFEST, CONFIGS = "spec.yaml", "config.pbtxt", "build.json", "configs"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The folder of one model; everything in it but spec.yaml is built."""

    root: Path

    @property
    def name(self) -> str:
        """The model's name, which Triton requires to be the folder's (a link's own name, where it is one)."""
        return self.root.absolute().name

    @property
    def spec(self) -> Path:
        """The spec that a person writes."""
        return self.root / SPEC

    @property
    def config(self) -> Path:
        """The configuration that Triton reads by default."""
        return self.root / CONFIG

    @property
    def manifest(self) -> Path:
        """The record of the last build."""
        return self.root / MANIFEST

    def named_config(self, host: str) -> Path:
        """The configuration that `--model-config-name` picks: `cpu` or `gpu`."""
        return self.root / CONFIGS / f"{host}.pbtxt"

    def version(self, number: int = 1) -> Path:
        """The folder of one version."""
        return self.root / str(number)

    def versions(self) -> list[int]:
        """The version numbers that are there, ascending."""
        return sorted(int(path.name) for path in self.root.iterdir() if path.is_dir() and path.name.isdigit())

    def publish(self, staged: Path) -> None:
        """Move what a build staged to its place: version folders, then configs, then build.json, each by rename.

        The old build.json goes first and the new one comes last, so its presence says that the rest is complete.
        """
        with readable_disk_errors(self.root):
            fsync_tree(staged)
            self.root.mkdir(parents=True, exist_ok=True)
            self.manifest.unlink(missing_ok=True)
            entries = sorted(staged.iterdir(), key=lambda path: (path.name == MANIFEST, not path.is_dir(), path.name))
            with uninterrupted():
                for entry in entries:
                    target = self.root / entry.name
                    replace_folder(entry, target) if entry.is_dir() else entry.replace(target)
            fsync_folder(self.root)


def find_model(target: str, repository: Path = DEFAULT_REPOSITORY) -> ModelFolder:
    """The model that `target` names: a name inside `repository`, a model folder, or a path to a spec.yaml."""
    path = Path(target)
    if path.name == SPEC or path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise RepositoryError(f"there is no spec at {path}", hint="name a model folder or a spec.yaml")
        if path.name != SPEC:
            raise RepositoryError(f"{path}: a spec is called {SPEC}, in a folder with the model's name")
        return ModelFolder(path.parent)
    if "/" in target or target == ".":
        if (path / SPEC).is_file():
            return ModelFolder(path)
        if path.is_dir():
            raise RepositoryError(f"{path} has no {SPEC}", hint="docs/spec.md shows one")
    _check_name(target)
    folder = ModelFolder(repository / target)
    if not folder.spec.is_file():
        raise RepositoryError(f"there is no model {target!r} in {repository}", hint=_known(repository))
    return folder


def _check_name(name: str) -> None:
    try:
        check_model_name(name)
    except ValueError as error:
        raise SpecError(str(error)) from None


def _known(repository: Path) -> str:
    if not repository.is_dir():
        return f"{repository} is not there; name another with --repository"
    names = sorted(path.parent.name for path in repository.glob(f"*/{SPEC}"))
    return f"there: {', '.join(names)}" if names else f"{repository} holds no spec.yaml yet"


def model_folders(repository: Path) -> list[ModelFolder]:
    """The models of a repository that Triton would load: folders with a config.pbtxt or a version folder."""
    if not repository.is_dir():
        raise RepositoryError(
            f"there is no model repository at {repository}", hint="build a model first: build-engine NAME"
        )
    folders = [ModelFolder(path) for path in sorted(repository.iterdir()) if path.is_dir() and path.name[0] != "."]
    return [folder for folder in folders if folder.config.is_file() or folder.versions()]
