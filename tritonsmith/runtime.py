"""What this machine is: cores, memory, GPUs, package versions. Facts only; `tritonsmith doctor` judges them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that something was built or measured on; memory in bytes."""

    system: str
    processor: str
    cpus: int
    memory_bytes: int
    python: str
    gpus: tuple[str, ...]


def machine() -> Machine:
    """This machine."""
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cpus=cpu_count(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        python=platform.python_version(),
        gpus=gpus(),
    )


def cpu_count() -> int:
    """The cores that this process may use (affinity), not those that the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def gpus() -> tuple[str, ...]:
    """The names of the NVIDIA GPUs that the driver lists; empty without a driver."""
    if shutil.which("nvidia-smi") is None:
        return ()
    command = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (subprocess.SubprocessError, OSError):
        return ()
    return tuple(line.strip() for line in listed.stdout.splitlines() if line.strip())


def package_version(name: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those of `names` that are installed."""
    found = {name: package_version(name) for name in names}
    return {name: version for name, version in found.items() if version is not None}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123  # a pseudo file, read line by line
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
