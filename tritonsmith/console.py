"""Two consoles: results go to stdout, so that pipes work; progress and remarks go to stderr."""

from __future__ import annotations

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
log = Console(stderr=True, highlight=False, soft_wrap=True)
