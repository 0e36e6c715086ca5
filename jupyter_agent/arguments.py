"""A function's annotations as JSON schema, and a model's arguments fitted to it.

Repairs are made only where one meaning is possible (a lone object where a list of them is meant, `"3"` for 3, JSON in a
string); anything else is refused with the schema's own sentence.
"""

from __future__ import annotations

import difflib
import inspect
import json
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from jupyter_agent.errors import BadArguments

Json = dict[str, Any]
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(function: Callable[..., Any]) -> Json:
    """The JSON schema of a tool's arguments: every parameter but the first.

    `Annotated[T, "text"]` adds a description, `Annotated[T, {...}]` merges keys into the parameter's schema.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    properties = {p.name: _of_type(hints[p.name]) for p in parameters}
    schema: Json = {"type": "object", "properties": properties}
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if required:
        schema["required"] = required
    return schema


def _of_type(annotation: Any) -> Json:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = _of_type(args[0])
        for extra in args[1:]:
            schema |= {"description": extra} if isinstance(extra, str) else extra
        return schema
    if origin in (Union, types.UnionType):
        options = [_of_type(arg) for arg in args if arg is not type(None)]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is list:
        return {"type": "array", "items": _of_type(args[0])}
    if origin is dict:
        return {"type": "object"}
    if is_typeddict(annotation):
        return _of_typed_dict(annotation)
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    return {}


def _of_typed_dict(annotation: Any) -> Json:
    hints = get_type_hints(annotation, include_extras=True)
    schema: Json = {"type": "object", "properties": {name: _of_type(hint) for name, hint in hints.items()}}
    if annotation.__required_keys__:
        schema["required"] = sorted(annotation.__required_keys__)
    return schema


def fit(name: str, schema: Json, arguments: Any, repair: Callable[[Json], Json] | None = None) -> Json:
    """The arguments in the shape the schema asks for. Raises BadArguments with what was wrong and what is right."""
    arguments = _parsed(arguments) if isinstance(arguments, str) else arguments
    if isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], dict):
        arguments = arguments[0]
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise BadArguments(f"{name} takes an object of arguments: {_sentence(schema)}.")
    if repair is not None:
        arguments = repair(dict(arguments))
    return _fit_object(name, schema, arguments, name)


def _fit_object(name: str, schema: Json, value: Json, where: str) -> Json:
    properties: Json = schema.get("properties", {})
    required = schema.get("required", [])
    fitted: Json = {}
    for key, given in value.items():
        if properties and key not in properties:
            near = difflib.get_close_matches(key, properties, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise BadArguments(f"{where} has no argument {key!r}.{hint} It takes {_sentence(schema)}.")
        if given is None and key not in required:
            continue
        fitted[key] = _fit_value(name, properties.get(key, {}), given, f"{where}.{key}")
    missing = [key for key in required if key not in fitted]
    if missing:
        raise BadArguments(f"{where} needs {', '.join(missing)}. It takes {_sentence(schema)}.")
    return fitted


def _fit_value(name: str, schema: Json, value: Any, where: str) -> Any:
    if "enum" in schema:
        return _fit_enum(schema["enum"], value, where)
    if "anyOf" in schema:
        return _fit_any(name, schema["anyOf"], value, where)
    kind = schema.get("type")
    if kind == "array":
        return _fit_array(name, schema, value, where)
    if kind == "object":
        return _fit_nested(name, schema, value, where)
    if kind in ("string", "integer", "number", "boolean"):
        return _fit_scalar(kind, value, where)
    return value


def _fit_array(name: str, schema: Json, value: Any, where: str) -> list[Any]:
    items = schema.get("items", {})
    if isinstance(value, str):
        parsed = _parsed(value)
        value = parsed if isinstance(parsed, list | dict) else [value] if items.get("type") == "string" else value
    if isinstance(value, dict) or (isinstance(value, int | float) and not isinstance(value, bool)):
        value = [value]
    if not isinstance(value, list):
        raise BadArguments(f"{where} must be a list, not {_name(value)}.")
    return [_fit_value(name, items, item, f"{where}[{place}]") for place, item in enumerate(value)]


def _fit_nested(name: str, schema: Json, value: Any, where: str) -> Json:
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise BadArguments(f"{where} must be an object, not {_name(value)}.")
    return _fit_object(name, schema, value, where) if schema.get("properties") else value


def _fit_scalar(kind: str, value: Any, where: str) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
    if kind in ("integer", "number") and not isinstance(value, bool):
        number = _number(value)
        if number is not None and (kind == "number" or number == int(number)):
            return number if kind == "number" else int(number)
    raise BadArguments(f"{where} must be {'an' if kind == 'integer' else 'a'} {kind}, not {_name(value)}.")


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None
    return number if number is not None and number - number == 0 else None


def _fit_enum(options: list[Any], value: Any, where: str) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value in options:
        return value
    folded = [
        o for o in options if isinstance(o, str) and isinstance(value, str) and o.lower() == value.strip().lower()
    ]
    if len(folded) == 1:
        return folded[0]
    raise BadArguments(f"{where} must be one of {', '.join(map(str, options))}, not {str(value)[:60]!r}.")


def _fit_any(name: str, options: list[Json], value: Any, where: str) -> Any:
    for strict in (True, False):
        for option in options:
            if strict and not _is(option, value):
                continue
            try:
                return _fit_value(name, option, value, where)
            except BadArguments:
                continue
    kinds = " or ".join(_kind(option) for option in options)
    raise BadArguments(f"{where} must be {kinds}, not {_name(value)}.")


def _is(schema: Json, value: Any) -> bool:
    if "enum" in schema:
        return value in schema["enum"]
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "array": (list,),
        "object": (dict,),
        "boolean": (bool,),
    }
    return isinstance(value, kinds.get(schema.get("type", ""), (int, float)))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _kind(schema: Json) -> str:
    if "enum" in schema:
        return " or ".join(repr(option) for option in schema["enum"])
    if schema.get("type") == "array":
        return f"a list of {_kind(schema.get('items', {}))}s"
    return str(schema.get("type", "any value"))


def _sentence(schema: Json) -> str:
    required = schema.get("required", [])
    parts = [f"{key}: {_kind(p)}{'' if key in required else '?'}" for key, p in schema.get("properties", {}).items()]
    return ", ".join(parts) or "no arguments"


def _name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true/false", type(None): "null"}
    return names.get(type(value), "a number")
