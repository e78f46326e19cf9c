"""What a look at the machine saw. Knows nothing of which looks there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check saw; with a `warning` it works, but not as well as it could, and `fix` says how it would."""

    found: str
    warning: str | None = None
    fix: str | None = None
