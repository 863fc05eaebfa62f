"""Internal: Options of a command, written once: fields of a frozen value, of which the command line, Python's signature,
settings and the head of a part are made.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar, get_args, get_type_hints

from msgspec import Struct

from corpusfmt.model import UsageError
from corpusfmt.wording import clipped, unknown

if TYPE_CHECKING:
    File = str | Path
else:  # msgspec reads no union of a text and a class that it does not know
    File = str

#: The section of the help with bounds.
BOUNDS = "Bounds"
#: The section of the help with fields of rows.
ROWS = "Fields of rows"
#: What rows may have fields for, in a document.
FIELDS = ("text", "id", "url", "created", "language", "source")

P = ParamSpec("P")
A = TypeVar("A")
K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T", bound=Struct)


class Option(Struct, frozen=True):
    """How a field is an option of the command line; `parse` also reads what settings give.

    `flag` is its names, if these are not that of the field, `completion` the name of a function in `cli.completion`, `panel`
    the section of the help.
    """

    help: str
    flag: str = ""
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    parse: Callable[[Any], Any] | None = None
    completion: str = ""
    panel: str | None = None

    def __repr__(self) -> str:
        return f"Option({self.help!r})"


class Named(Struct, frozen=True):
    """A field that is an option: its type, its default and what the command line says of it."""

    kind: Any
    default: Any
    option: Option


def annotations_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the annotations of the fields of a class; `get_type_hints` takes a tenth of the time of a short command."""
    return {
        name: hint for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()
    }


def option_in(hint: Any) -> Option | None:
    """Return how the command line has what an annotation is for, if it has it."""
    return next((said for said in get_args(hint) if isinstance(said, Option)), None)


@cache
def options_of(kind: type[Struct]) -> dict[str, Named]:
    """Return the options among the fields of a class, by name; those of a value in a field are options, too."""
    options: dict[str, Named] = {}
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    for name, hint in annotations_of(kind).items():
        if option := option_in(hint):
            options[name] = Named(get_args(hint)[0], defaults.get(name), option)
        elif _is_value(hint):
            options |= options_of(hint)
    return options


def _is_value(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def made(kind: type[T], values: Mapping[str, Any], **others: Any) -> T:
    """Return a value of a class from options by name, as they were typed; values in its fields are made of them, too."""
    options, given = options_of(kind), {}
    for name, hint in annotations_of(kind).items():
        if values.get(name) is not None:
            parse = options[name].option.parse if name in options else None
            given[name] = values[name] if parse is None else parse(values[name])
        elif _is_value(hint) and options_of(hint).keys() & values.keys():
            given[name] = made(hint, values)
    return kind(**given | others)


def like(kind: type[T], value: Struct, **others: Any) -> T:
    """Return a value of a class with the fields that another has as well."""
    shared = {name: getattr(value, name) for name in kind.__struct_fields__ if hasattr(value, name)}
    return kind(**shared | others)


def takes_options(kind: Callable[P, K]) -> Callable[[Callable[[A, K], R]], Callable[Concatenate[A, P], R]]:
    """Let a function of something and of options take the options as its keyword arguments."""

    def decorate(function: Callable[[A, K], R]) -> Callable[Concatenate[A, P], R]:
        @wraps(function)
        def run(path: A, /, *args: P.args, **options: P.kwargs) -> R:
            return function(path, kind(*args, **options))

        vars(run)["__wrapped__"] = _Signature(function, kind)
        return run

    return decorate


class _Signature:
    """The signature of a function that takes options, made when it is asked for: `inspect` takes long to import."""

    def __init__(self, function: Callable[..., Any], kind: Callable[..., Any]) -> None:
        self._function = function
        self._kind = kind

    @property
    def __signature__(self) -> Any:
        import inspect  # noqa: PLC0415 - seldom needed

        whole = inspect.signature(self._function, eval_str=True)
        first = next(iter(whole.parameters.values()))
        hints = get_type_hints(self._kind)
        options = inspect.signature(self._kind).parameters.values()
        named = [option.replace(annotation=hints[option.name]) for option in options]
        return whole.replace(parameters=[first, *named])


#: The least severity of a finding that makes a run fail.
FailOn = Literal["error", "warning", "never"]


def names(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a repeatable option, each of which may be a comma-separated list."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = r"(?i)(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?"


def size(text: str) -> int:
    """Return bytes from `500MB`, `1.5 GB` or `2GiB`."""
    match = re.fullmatch(_SIZE, text.strip())
    count = float(match[1]) * (1024 if match[3] else 1000) ** _UNITS[match[2].lower()] if match else 0.0
    if not 1 <= count < math.inf:
        raise UsageError(f"size is {clipped(text)!r}, expected a size like 500MB, 1.5GB or 2GiB")
    return int(count)


def ratio(given: str | float) -> float:
    """Return the value of `--limit expansion`."""
    # Comparisons with NaN are false.
    if not 1 <= (value := _number(given)) < math.inf:
        raise UsageError(f"--limit expansion is {clipped(str(given))}, expected a finite ratio of at least 1")
    return value


def seconds(given: str | float) -> float:
    """Return the value of `--limit timeout`."""
    if not 0 < (value := _number(given)) < math.inf:
        raise UsageError(f"--limit timeout is {clipped(str(given))}, expected a finite number of seconds above 0")
    return value


def share(text: str) -> float:
    """Return a share from `1%` or `0.01`."""
    value = _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 < value <= 1:
        raise UsageError(f"--sample is {clipped(text)!r}, expected a share like 1% or 0.01")
    return value


def _number(given: str | float) -> float:
    try:
        return float(given)
    except ValueError:
        return math.nan


def pairs(option: str, given: Sequence[str] | Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return the values of a repeatable option NAME=VALUE, which settings give by name. Raises `UsageError`."""
    typed = () if isinstance(given, Mapping) else (each.partition("=") for each in given)
    found = given if isinstance(given, Mapping) else {name: value for name, _, value in typed}
    for name, value in found.items():
        if name not in known:
            raise UsageError(unknown(option, name, known))
        if value == "":
            raise UsageError(f"{option} {name} has no value, expected {name}=VALUE")
    return {name: found[name] for name in known if name in found}


def maps_of(given: Sequence[str] | Mapping[str, File]) -> Mapping[str, File]:
    """Return the local copies named by options, by id. Raises `UsageError`."""
    if isinstance(given, Mapping):  # settings
        return given
    copies: dict[str, File] = {}
    for text in given:
        # An id may be a URL with `=`: the path is the last part, unless only the whole rest exists.
        places = [index for index, character in enumerate(text) if character == "="]
        chosen = next((place for place in places if os.path.lexists(text[place + 1 :])), places[-1] if places else 0)
        name, path = text[:chosen], text[chosen + 1 :]
        if not name or not path:
            raise UsageError(f"--map is {clipped(text)!r}, expected ID=PATH")
        if name in copies:
            raise UsageError(f"--map names {clipped(name)!r} twice: name it once")
        copies[name] = path
    return copies


def fields_of(given: Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields that `--field` names. Raises `UsageError`."""
    return pairs("--field", given, FIELDS)


class Rows(Struct, frozen=True, kw_only=True):
    """The fields of rows that make a document, if the format does not define them: by the column profile of a corpus, or by name."""

    columns: Annotated[
        File | None,
        Option(
            "JSON Lines, Parquet, text: the column profile of a corpus, such as fineweb or cc-100, or a TOML file.",
            metavar="NAME|FILE",
            panel=ROWS,
        ),
    ] = None
    field: Annotated[
        Mapping[str, str],
        Option(
            "JSON Lines, Parquet: the field with the text, id, url, created, language or source, like text=body or "
            "text=/doc/text, a JSON pointer (Croissant: text and id); repeatable.",
            metavar="NAME=FIELD",
            parse=fields_of,
            completion="fields",
            panel=ROWS,
        ),
    ] = {}
