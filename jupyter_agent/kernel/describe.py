"""Describes the variables of a Python namespace without side effects: stdlib only, run as text inside the kernel.

Nothing is imported, no method of a user's class is called, nothing lazy or remote is forced, every text is bounded.
It must run on any Python from 3.8 and know nothing of this package: kernels live in other environments (fault n41).
"""

# ruff: noqa: B905 - zip(strict=) came with Python 3.10

from __future__ import annotations

import json
import sys
import types
from typing import Any, Callable, Dict, Sequence  # noqa: UP035 - old kernels

PREVIEW = 200
"""Characters of one preview."""

NAMES = 500
"""Variables listed when none is asked for by name."""

ITEMS = 6
"""Elements shown of a container or array."""

COLUMNS = 60
"""Columns listed of a data frame in detail."""

ROWS = 5

DIGITS_BITS = 4000
"""Integers above this many bits are not converted to digits, which takes quadratic time."""

Entry = Dict[str, Any]  # noqa: UP006 - evaluated, on old Pythons too

_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_dict = type.__dict__["__dict__"].__get__
_module = type.__dict__["__module__"].__get__
_PLAIN = (int, float, complex, bool, type(None), type(...), type(NotImplemented), range, slice)


def describe(namespace: dict[str, Any], names: Sequence[str] | None, detail: bool) -> list[Entry]:
    """One entry per variable: name, type, shape, size in bytes or None, preview, detail.

    Without `names`: what the user defined, underscore names and the shell's own left out. A name that is not there
    comes back with type `undefined`.
    """
    if names is None:
        chosen = [name for name in _snapshot(namespace) if _is_users(namespace, name)][:NAMES]
    else:
        chosen = [str(name) for name in names]
    entries = []
    for name in chosen:
        if name not in namespace:
            entries.append({"name": name, "type": "undefined"})
            continue
        entry: Entry = {"name": name}
        try:
            entry.update(_entry(namespace[name], detail))
        except Exception as error:
            # A library's own object in a broken state: its type is still known.
            entry.update({"type": _type_name(namespace[name]), "preview": "not readable: " + _name(type(error))})
        entries.append(entry)
    return entries


def describe_json(namespace: dict[str, Any], names: Sequence[str] | None, detail: bool) -> str:
    return json.dumps(describe(namespace, names, detail))


def users_names(namespace: dict[str, Any]) -> list[str]:
    return [name for name in _snapshot(namespace) if _is_users(namespace, name)]


def _snapshot(namespace: dict[str, Any]) -> list[str]:
    """The names, while a running cell may add some."""
    for _ in range(5):
        try:
            return sorted(name for name in list(namespace) if type(name) is str)
        except RuntimeError:
            continue
    return []


def _is_users(namespace: dict[str, Any], name: str) -> bool:
    if name.startswith("_"):
        return False
    value = namespace.get(name)
    if name in ("In", "Out", "exit", "quit", "get_ipython", "open"):
        return (
            type(value).__module__.split(".")[0] not in ("IPython", "builtins", "ipykernel", "io", "_io")
            and (
                type(value) is not types.FunctionType
                or value.__module__.split(".")[0] not in ("IPython", "builtins", "io")
            )
            and type(value) is not types.MethodType
        )
    return True


# ------------------------------------------------------------------------------------------------- one value


def _entry(value: Any, detail: bool) -> Entry:
    kind = type(value)
    for library, names, describer in _LIBRARIES:
        module = sys.modules.get(library)
        for attribute in names if module is not None else ():
            base = getattr(module, attribute, None)
            if isinstance(base, type) and base in _mro(kind):
                return describer(value, base, detail)
    entry: Entry = {"type": _type_name(value), "preview": _clip(_preview(value, 2))}
    if kind in (list, tuple, dict, set, frozenset, str, bytes, bytearray, range):
        unit = "characters" if kind is str else "bytes" if kind in (bytes, bytearray) else "items"
        entry["shape"] = f"{len(value)} {unit}"
        entry["size"] = sys.getsizeof(value)
        if detail:
            entry["detail"] = {"preview": _clip(_preview(value, 3, 40), 4000)}
    elif detail and _attributes(value) is not None:
        entry["detail"] = {"attributes": _described(_attributes(value) or {})}
    return entry


def _type_name(value: Any) -> str:
    kind = type(value)
    module = _module(kind)
    name = str(_name(kind))
    return name if module in ("builtins", "__main__") or type(module) is not str else module + "." + name


def _attributes(value: Any) -> dict[str, Any] | None:
    """The instance's own dictionary, read past every override; None when it has none."""
    for base in _mro(type(value)):
        descriptor = _dict(base).get("__dict__")
        if descriptor is not None:
            if type(descriptor) is not types.GetSetDescriptorType:
                return None
            found = descriptor.__get__(value)
            return found if type(found) is dict else None
    return None


def _described(values: dict[str, Any]) -> dict[str, str]:
    return {str(key)[:80]: _clip(_preview(values[key], 1)) for key in list(values)[:COLUMNS] if type(key) is str}


def _preview(value: Any, depth: int, items: int = ITEMS) -> str:
    """A bounded repr that trusts only exact built-in types."""
    kind = type(value)
    if kind is int and value.bit_length() > DIGITS_BITS:
        return f"int of {value.bit_length()} bits"
    if kind in _PLAIN:
        return repr(value) if kind not in (range, slice) else _range_text(value, depth)
    if kind in (str, bytes, bytearray):
        cut = value[: PREVIEW + 1] if items == ITEMS else value[:4000]
        return repr(cut)
    if kind in (list, tuple, set, frozenset):
        return _sequence(value, kind, depth, items)
    if kind is dict:
        if depth == 0:
            return "{…}" if value else "{}"
        shown = list(_take(value.items(), items))
        parts = [f"{_preview(key, 0)}: {_preview(item, depth - 1)}" for key, item in shown]
        return "{" + ", ".join(parts) + (f", … {len(value) - len(shown)} more" if len(value) > len(shown) else "") + "}"
    if kind is types.ModuleType:
        return "module " + str(types.ModuleType.__getattribute__(value, "__dict__").get("__name__", ""))
    if kind is types.FunctionType:
        return "{}({})".format(value.__name__, ", ".join(value.__code__.co_varnames[: value.__code__.co_argcount]))
    if type in _mro(type(value)):
        return "class " + str(_name(value))
    return _instance(value, depth)


def _instance(value: Any, depth: int) -> str:
    attributes = _attributes(value)
    if not attributes or depth == 0:
        return f"<{_type_name(value)}>"
    shown = [key for key in list(attributes)[:ITEMS] if type(key) is str]
    parts = [f"{key[:40]}={_preview(attributes[key], depth - 2 if depth > 1 else 0)}" for key in shown]
    return "<{} {}{}>".format(_type_name(value), ", ".join(parts), ", …" if len(attributes) > len(shown) else "")


def _range_text(value: Any, depth: int) -> str:
    parts = [value.start, value.stop, value.step]
    return "{}({})".format(_name(type(value)), ", ".join(_preview(part, max(0, depth - 1)) for part in parts))


def _sequence(value: Any, kind: type, depth: int, items: int) -> str:
    left, right = "[]" if kind is list else "()" if kind is tuple else "{}"
    if kind in (set, frozenset) and not value:
        return f"{kind.__name__}()"
    if depth == 0:
        return left + ("…" if value else "") + right
    shown = list(_take(value, items))
    more = f", … {len(value) - len(shown)} more" if len(value) > len(shown) else ""
    comma = "," if kind is tuple and len(value) == 1 else ""
    return left + ", ".join(_preview(item, depth - 1) for item in shown) + comma + more + right


def _take(values: Any, count: int) -> list[Any]:
    taken: list[Any] = []
    try:
        for value in values:
            if len(taken) == count:
                break
            taken.append(value)
    except RuntimeError:
        # The running cell changed the container meanwhile.
        pass
    return taken


def _clip(text: str, limit: int = PREVIEW) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ------------------------------------------------------------------------------------------------- libraries


def _array(value: Any, base: Any, detail: bool) -> Entry:
    """numpy: read through the base class's own descriptors; at most a few elements are touched, nothing is copied."""
    shape, dtype = base.shape.__get__(value), base.dtype.__get__(value)
    entry = {
        "type": _type_name(value),
        "shape": "×".join(str(size) for size in shape) or "scalar",
        "size": int(base.nbytes.__get__(value)),
        "preview": str(dtype),
    }
    if type(value) is base:
        first = list(base.flat.__get__(value)[:ITEMS])
        texts = [_scalar(element) for element in first]
        more = ", …" if base.size.__get__(value) > ITEMS else ""
        entry["preview"] = _clip("{} [{}{}]".format(dtype, ", ".join(texts), more))
    return entry


def _scalar(element: Any) -> str:
    """A numpy scalar through its Python value; anything else as any value."""
    generic = getattr(sys.modules.get("numpy"), "generic", None)
    if generic is not None and generic in _mro(type(element)) and _module(type(element)) == "numpy":
        text = str(element) if type(element).__name__ in ("datetime64", "timedelta64") else repr(element.item())
        return _clip(text, 60)
    module = str(_module(type(element)))
    if module.split(".")[0] == "pandas" or module == "datetime" or module == "decimal":
        return _clip(str(element), 60)
    return _clip(_preview(element, 1), 60)


def _frame(value: Any, base: Any, detail: bool) -> Entry:
    """pandas.DataFrame, also subclasses of it, through the base class's own properties."""
    rows, columns = base.shape.fget(value)
    labels = list(_take(base.columns.__get__(value), COLUMNS))
    dtypes = [str(kind) for kind in _take(base.dtypes.fget(value), COLUMNS)]
    texts = [_scalar(label) for label in labels]
    entry: Entry = {
        "type": _type_name(value),
        "shape": f"{rows} rows × {columns} columns",
        "preview": _clip(", ".join(f"{text} {kind}" for text, kind in zip(texts, dtypes))),
    }
    if columns <= 200:
        entry["size"] = int(base.memory_usage(value, index=False, deep=False).sum())
    if detail:
        head = [
            [_scalar(base.iat.__get__(value)[row, column]) for column in range(len(labels))]
            for row in range(min(rows, ROWS))
        ]
        entry["detail"] = {"columns": texts, "dtypes": dtypes, "head": head, "rows": rows, "columns_total": columns}
        missing = {text: count for text, count in _missing(value, base, len(labels), rows, texts) if count}
        entry["detail"]["missing"] = missing
    return entry


def _missing(value: Any, base: Any, columns: int, rows: int, texts: list[str]) -> list[tuple[str, int]]:
    """Missing values per column, for frames small enough to look through at once."""
    if rows * columns > 5_000_000:
        return []
    counts = base.isna(base.iloc.__get__(value)[:, :columns]).sum()
    return [(text, int(count)) for text, count in zip(texts, counts)]


def _column(value: Any, base: Any, detail: bool) -> Entry:
    """pandas.Series and Index."""
    size = int(base.size.fget(value))
    read = base.iat.__get__(value) if hasattr(base, "iat") else value
    first = [_scalar(read[position]) for position in range(min(size, ITEMS))]
    dtype = str(base.dtype.__get__(value))
    return {
        "type": _type_name(value),
        "shape": f"{size} values",
        "size": int(base.memory_usage(value, deep=False)),
        "preview": _clip("{} [{}{}]".format(dtype, ", ".join(first), ", …" if size > ITEMS else "")),
    }


def _polars_frame(value: Any, base: Any, detail: bool) -> Entry:
    rows, columns = base.shape.fget(value)
    schema = list(base.schema.fget(value).items())[:COLUMNS]
    entry: Entry = {
        "type": _type_name(value),
        "shape": f"{rows} rows × {columns} columns",
        "size": int(base.estimated_size(value)),
        "preview": _clip(", ".join(f"{name} {kind}" for name, kind in schema)),
    }
    if detail:
        head = [[_scalar(cell) for cell in row[:COLUMNS]] for row in base.rows(base.head(value, ROWS))]
        names, kinds = [str(name) for name, _ in schema], [str(kind) for _, kind in schema]
        entry["detail"] = {"columns": names, "dtypes": kinds, "head": head, "rows": rows, "columns_total": columns}
    return entry


def _polars_series(value: Any, base: Any, detail: bool) -> Entry:
    size = len(value) if type(value) is base else 0
    first = [_scalar(element) for element in base.to_list(base.head(value, ITEMS))] if type(value) is base else []
    preview = _clip("{} [{}{}]".format(value.dtype, ", ".join(first), ", …" if size > ITEMS else ""))
    return {"type": _type_name(value), "shape": f"{size} values", "preview": preview}


def _lazy(value: Any, base: Any, detail: bool) -> Entry:
    return {"type": _type_name(value), "preview": "lazily evaluated: not computed to look at it"}


def _tensor(value: Any, base: Any, detail: bool) -> Entry:
    """torch: metadata always; values only where reading them is a view of memory at hand."""
    device, dtype = str(value.device), str(value.dtype)
    entry = {
        "type": _type_name(value),
        "shape": "×".join(str(size) for size in base.size(value)) or "scalar",
        "size": int(base.numel(value)) * int(base.element_size(value)),
        "preview": f"{dtype} on {device}",
    }
    if device == "cpu" and type(value) is base and base.is_contiguous(value):
        first = base.tolist(base.view(base.detach(value), -1)[:ITEMS])
        more = ", …" if base.numel(value) > ITEMS else ""
        entry["preview"] = _clip(
            "{} on {} [{}{}]".format(dtype, device, ", ".join(repr(element) for element in first), more)
        )
    return entry


Describer = Callable[[Any, Any, bool], Entry]

_LIBRARIES: tuple[tuple[str, tuple[str, ...], Describer], ...] = (
    ("pandas", ("DataFrame",), _frame),
    ("pandas", ("Series", "Index"), _column),
    ("polars", ("DataFrame",), _polars_frame),
    ("polars", ("Series",), _polars_series),
    ("polars", ("LazyFrame",), _lazy),
    ("torch", ("Tensor",), _tensor),
    ("numpy", ("ndarray",), _array),
)


def quiet_once(shell: Any) -> None:
    """Keep IPython's `post_execute` callbacks from running after this very request of ours.

    Without it, looking at variables while a cell runs would make matplotlib's inline back end show and close the
    figure that the cell is still drawing. Another thread's end of cell in the meantime is not affected.
    """
    import threading

    callbacks, thread = shell.events.callbacks, threading.get_ident()

    class Quiet(list):  # type: ignore[type-arg]
        def __getitem__(self, key: Any) -> Any:
            if isinstance(key, slice) and threading.get_ident() == thread:
                callbacks["post_execute"] = list(self)
                return []
            return list.__getitem__(self, key)

    callbacks["post_execute"] = Quiet(callbacks["post_execute"])
