"""The one edge where YAML becomes a Spec: duplicate and unknown keys are refused, errors name key and line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from tritonsmith import spec as spec_module
from tritonsmith.errors import RepositoryError, SpecError
from tritonsmith.spec import Spec

Location = tuple[int | str, ...]
_DEEPEST = 12


@cache
def _adapter() -> TypeAdapter[Spec]:
    """Strict, closed validation of the plain dataclasses in `tritonsmith.spec`."""
    closed = ConfigDict(extra="forbid", strict=True)
    for value in vars(spec_module).values():
        if isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
            value.__pydantic_config__ = closed  # type: ignore[attr-defined]  # pydantic's documented hook
    return TypeAdapter(Spec)


def read_spec(path: Path) -> Spec:
    """Read a spec.yaml; SpecError names the key, the line and the fix, RepositoryError a file that is not there."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RepositoryError(f"there is no spec at {path}", hint="name a model folder or a spec.yaml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"cannot read {path}: {error}", hint="a spec is a YAML text file in UTF-8") from error
    return parse_spec(text, origin=str(path))


def parse_spec(text: str, *, origin: str = "spec") -> Spec:
    """A Spec from YAML text; `origin` is what errors call it."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except RecursionError:
        raise SpecError(f"{origin}: nested too deeply", hint="a spec needs four levels") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f":{where.line + 1}:{where.column + 1}" if where else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise SpecError(f"{origin}{line}: {problem}", hint="check indentation, colons and quotes") from error
    if data is None or node is None:
        raise SpecError(f"{origin}: the spec is empty", hint="docs/spec.md shows one")
    if not isinstance(data, Mapping):
        raise SpecError(
            f"{origin}: a spec is a mapping of keys, this is a {_kind(data)}", hint="docs/spec.md shows one"
        )
    lines = _lines(node, origin)
    return spec_from_mapping(data, origin=origin, lines=lines)


def spec_from_mapping(
    data: Mapping[Any, Any], *, origin: str = "spec", lines: Mapping[Location, int] | None = None
) -> Spec:
    """A Spec from plain data; `lines` maps key paths to line numbers for error messages."""
    try:
        # JSON mode: lists may become tuples, while a string never becomes a number
        return _adapter().validate_json(json.dumps(data))
    except ValidationError as error:
        raise _explain(error, origin, lines or {}) from None
    except TypeError as error:
        raise SpecError(f"{origin}: {error}", hint="quote dates and other special YAML values") from error


def dump_spec(spec: Spec) -> str:
    """YAML text that reads back as an equal Spec; values that are defaults are left out."""
    plain: dict[str, Any] = json.loads(json.dumps(_without_defaults(spec)))
    return yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=110)


def _without_defaults(value: Any) -> Any:
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        pairs = ((name, getattr(value, name), field) for name, field in fields.items())
        return {name: _without_defaults(item) for name, item, field in pairs if not _is_default(item, field)}
    if isinstance(value, Mapping):
        return {key: _without_defaults(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_without_defaults(item) for item in value]
    return value


def _is_default(item: Any, field: Any) -> bool:
    if callable(field.default_factory):
        return bool(item == field.default_factory())
    return bool(item == field.default)


def spec_key(spec: Spec) -> str:
    """Canonical JSON of a spec: equal specs, equal text."""
    return json.dumps(asdict(spec), sort_keys=True)


def _lines(root: yaml.Node, origin: str) -> dict[Location, int]:
    """The line of every key, by its path; a key that stands twice is refused: YAML would keep the last in silence."""
    lines: dict[Location, int] = {}
    pending: list[tuple[Location, yaml.Node]] = [((), root)]
    while pending:
        path, node = pending.pop()
        if len(path) > _DEEPEST:
            raise SpecError(f"{origin}:{node.start_mark.line + 1}: nested too deeply, or an anchor that holds itself")
        lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.tag != "tag:yaml.org,2002:str" and key.value != "<<":
                    raise SpecError(
                        f"{origin}:{key.start_mark.line + 1}: key {key.value!r} is no text: put it in quotes"
                    )
                below = (*path, key.value)
                if below in lines:
                    raise SpecError(f"{origin}:{key.start_mark.line + 1}: {key.value!r} is given twice")
                lines[below] = key.start_mark.line + 1
                pending.append((below, value))
        elif isinstance(node, yaml.SequenceNode):
            pending.extend(((*path, index), item) for index, item in enumerate(node.value))
    return lines


def _explain(error: ValidationError, origin: str, lines: Mapping[Location, int]) -> SpecError:
    """The first finding, unknown keys before others, as one line with the fix."""
    findings = sorted(error.errors(), key=lambda item: item["type"] != "unexpected_keyword_argument")
    first = findings[0]
    path: Location = tuple(part for part in first["loc"] if part not in _ALTERNATIVES)
    at = f"{origin}:{_line(path, lines)}" if lines else origin
    key = ".".join(str(part) for part in path)
    if first["type"] == "unexpected_keyword_argument":
        return SpecError(f"{at}: unknown key {key!r}", hint=_nearest(path))
    if first["type"] == "missing":
        return SpecError(f"{at}: {key!r} is missing", hint="docs/spec.md lists the keys")
    message = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    shown = f", got {given!r}" if isinstance(given, str | int | float | bool) else ""
    return SpecError(f"{at}: {key + ': ' if key else ''}{_lower(message)}{shown}")


_ALTERNATIVES = {"int", "str", "function-wrap[DynamicBatching]"}
"""What pydantic adds to a path where a value may be of several types."""


def _kind(data: object) -> str:
    names: dict[type, str] = {list: "list", str: "text"}
    return names.get(type(data), type(data).__name__)


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:] if message.startswith("Input") else message


def _line(path: Location, lines: Mapping[Location, int]) -> int:
    while path not in lines:
        path = path[:-1]
    return lines[path]


def _nearest(path: Location) -> str:
    """The known key that is spelled most like the last part of `path`."""
    names = sorted({name for cls in _dataclasses() for name in cls.__dataclass_fields__})
    close = difflib.get_close_matches(str(path[-1]), _siblings(path) or names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(_siblings(path) or names)


def _dataclasses() -> list[Any]:
    return [value for value in vars(spec_module).values() if hasattr(value, "__dataclass_fields__")]


def _siblings(path: Location) -> list[str]:
    """The keys that are known where the unknown one stands, found by walking the schema along `path`."""
    schema: Any = _adapter().json_schema()
    node: Any = schema
    for part in path[:-1]:
        node = _resolve(node, schema)
        node = node.get("properties", {}).get(part) or node.get("additionalProperties") or {}
    return list(_resolve(node, schema).get("properties", {}))


def _resolve(node: Any, schema: Any) -> Any:
    """Follow references and pick the object among alternatives (`X or null`)."""
    options = node.get("anyOf", [node])
    node = next((item for item in options if "$ref" in item or "properties" in item), node)
    if "$ref" in node:
        return schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node
