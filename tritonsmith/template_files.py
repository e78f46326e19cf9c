"""Where the Jinja templates lie, in a checkout and in an installed package, and how they are rendered."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from google.protobuf import text_encoding

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "templates", _PACKAGE.parent / "templates")


@cache
def environment() -> jinja2.Environment:
    """The environment of all templates: an undefined name is an error, never an empty string."""
    folder = next(place for place in _PLACES if place.is_dir())
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(["html.j2"]),
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = _quoted
    return environment


def render(template: str, /, **context: object) -> str:
    """Render one template by its path below `templates/`."""
    return environment().get_template(template).render(**context)


def _quoted(text: str) -> str:
    """A protobuf text-format string literal."""
    return '"' + text_encoding.CEscape(text.encode(), as_utf8=True) + '"'
