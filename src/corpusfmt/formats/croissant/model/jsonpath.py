"""Internal: JSON paths of RFC 9535, by python-jsonpath, within a budget of values.

Published descriptions also have Goessner's paths, from before the RFC: without `$`, with `-` and other characters in names,
with names in brackets that are not quoted. They are read as they are meant. A filter that the RFC does not know is not
followed, nor is a pattern in `match` or `search` that may take forever; the path has no fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError, JSONPathMatch, NodeList
from jsonpath.filter import UNDEFINED, BaseExpression, RelativeFilterQuery, RootFilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.lex import Lexer
from jsonpath.parse import Parser
from jsonpath.segments import JSONPathChildSegment, JSONPathSegment
from jsonpath.stream import TokenStream
from jsonpath.token import TOKEN_EOF, TOKEN_ROOT, TOKEN_SELF
from msgspec import Struct

from corpusfmt.io.text import MAX_DEPTH

_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_NAME = r"[^\s.\[\]()'\"*,:?@$]++"
# Names after a dot, and names in brackets without quotes.
_OLD = re.compile(rf"\.(\.?)({_NAME}|{_QUOTED})|(?<=[\[,])\s*+(?!-?\d)({_NAME})(?=\s*[\],])|{_QUOTED}", re.DOTALL)
_FILTER = re.compile(rf"\[\s*+[?(]|{_QUOTED}", re.DOTALL)
_BRACKET = re.compile(rf"[\[(]|[\])]|{_QUOTED}", re.DOTALL)
# The patterns of RFC 9485 without groups and categories; `^` and `$` are anchors, as authors mean them.
_PIECE = re.compile(
    r"([^][\\.*+?(){}|^$]|\.|\\[][()*+.?\\^nrt{|}-]|\[\^?(?:[^][\\&|~-]|\\[][()*+.?\\^nrt{|}-]|-(?!-))+\])"
    r"([*+?]|\{\d{1,2}(?:,\d{0,2})?\})?"
)
_PATTERN = re.compile(rf"(\^?)((?:{_PIECE.pattern}|\|)*+)(\$?)")
_MOST_PATTERN = 1000
_FAULTS = (JSONPathError, ArithmeticError, ValueError)
_QUOTES = ("'", '"')
_MOST_CHARACTERS = 10_000
_MOST_STEPS = 200
_MOST_VALUES = 5_000_000


class PathFault(ValueError):
    """The path is not a JSON path."""


class _TooMany(Exception):
    """A path passes more values than one may, or has a filter that is not followed."""


class Step(Struct, frozen=True):
    """One step of a path; `value` is the name or index that it selects, None if it may select several things."""

    segment: JSONPathSegment
    value: str | int | None
    is_deep: bool


def parse_path(text: str) -> list[Step]:
    """Return the steps of a path. Raises `PathFault`."""
    if not text.strip():
        raise PathFault("empty")
    if len(text) > _MOST_CHARACTERS:
        raise PathFault(f"more than {_MOST_CHARACTERS:,} characters")
    environment = _Environment()
    start = "" if text.startswith("$") else "$" if text.startswith(("[", ".")) else "$."
    try:
        path = environment.compile(start + text)
    except _FAULTS as error:
        try:
            path = environment.compile(_modern(start + text, environment))
        except _FAULTS:
            raise PathFault(_said(error, len(start))) from None
    assert isinstance(path, JSONPath)
    if len(path.segments) > _MOST_STEPS:
        raise PathFault(f"more than {_MOST_STEPS} steps")
    return list(map(_step, path.segments))


def jsonpath_fault(text: str) -> str | None:
    """Return what is wrong with a path, or None."""
    try:
        parse_path(text)
    except PathFault as fault:
        return str(fault)
    return None


def select(value: Any, steps: list[Step]) -> list[Any] | None:
    """Return what a path selects, in document order.

    None for a path that is not followed: one with a filter that RFC 9535 does not have, or with a pattern that may take
    forever, or that passes more than five million values.
    """
    if not steps:
        return [value]
    environment = steps[0].segment.env
    assert isinstance(environment, _Environment)
    if not environment.is_followed:
        return None
    environment.left = _MOST_VALUES
    try:
        return _selected(environment, [step.segment for step in steps], value)
    except (_TooMany, RecursionError):
        return None


def _selected(environment: _Environment, segments: Iterable[JSONPathSegment], root: Any) -> list[Any]:
    values = [root]
    for segment in segments:
        values = [node.obj for node in segment.resolve(_Node(environment, value, root) for value in values)]
    return values


def _step(segment: JSONPathSegment) -> Step:
    is_deep = not isinstance(segment, JSONPathChildSegment)
    selector = segment.selectors[0] if not is_deep and len(segment.selectors) == 1 else None
    value = getattr(selector, "name", getattr(selector, "index", None))
    return Step(segment, value, is_deep)


def _said(error: Exception, added: int) -> str:
    token = getattr(error, "token", None)
    if token is None:
        return str(error) if isinstance(error, JSONPathError) else "a number is out of range"
    at = "the end" if token.kind == TOKEN_EOF else f"character {token.index + 1 - added}"
    return f"{error.args[0]} at {at}"


def _modern(text: str, environment: _Environment) -> str:
    """Return a path of Goessner's in the spelling of the RFC; a filter that is not one of the RFC's is left out."""
    parts: list[str] = []
    position = 0
    for match in _FILTER.finditer(text):
        if match[0][0] == "[" and match.start() >= position:
            end = _end_of_brackets(text, match.start())
            parts.append(_OLD.sub(_quoted, text[position : match.start()]))
            condition = text[match.start() : end]
            try:
                environment.compile(f"${condition}")
            except _FAULTS:
                condition = "[*]"
                environment.is_followed = False
            parts.append(condition)
            position = end
    return "".join([*parts, _OLD.sub(_quoted, text[position:])])


def _quoted(match: re.Match[str]) -> str:
    dot, member, bare = match.groups()
    if member is not None:
        return f"{'..' if dot else ''}[{member if member[0] in _QUOTES else json.dumps(member)}]"
    return json.dumps(bare) if bare is not None else match[0]


def _end_of_brackets(text: str, start: int) -> int:
    expected: list[str] = []
    for match in _BRACKET.finditer(text, start):
        if match[0] in "[(":
            expected.append("]" if match[0] == "[" else ")")
        elif match[0] in "])":
            if expected.pop() != match[0]:
                break
            if not expected:
                return match.end()
    raise ValueError("not closed")


class _Node(JSONPathMatch):
    """A value on the way, without its path and children, which nobody asks for."""

    __slots__ = ("environment",)

    def __init__(self, environment: _Environment, value: Any, root: Any) -> None:
        environment.spend()
        self.environment = environment
        self.obj = value
        self.root = root

    def new_child(self, obj: object, _key: int | str) -> _Node:
        return _Node(self.environment, obj, self.root)

    def add_child(self, *_children: JSONPathMatch) -> None:
        pass

    def filter_context(self) -> dict[str, Any]:
        return {}


class _Path(JSONPath):
    """A path in a filter."""

    def finditer(self, data: Any, **_options: Any) -> Iterable[JSONPathMatch]:
        assert isinstance(self.env, _Environment)
        return [_Node(self.env, value, data) for value in _selected(self.env, self.segments, data)]


class _Lexer(Lexer):
    # Letters, digits, `_` and all beyond ASCII; a class that names those compiles a hundred times as slowly.
    key_pattern = r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*"


class _Parser(Parser):
    def parse_absolute_query(self, stream: TokenStream) -> BaseExpression:
        stream.eat(TOKEN_ROOT)
        return RootFilterQuery(_Path(env=self.env, segments=self.parse_query(stream)))

    def parse_relative_query(self, stream: TokenStream) -> BaseExpression:
        stream.eat(TOKEN_SELF)
        return RelativeFilterQuery(_Path(env=self.env, segments=self.parse_query(stream)))


class _Match(FilterFunction):
    """`match` and `search` of a pattern without groups, whose worst case is counted; others are not followed."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 - as in the library
    return_type = ExpressionType.LOGICAL

    def __init__(self, environment: _Environment, *, anywhere: bool) -> None:
        self._environment = environment
        self._anywhere = anywhere

    def __call__(self, text: object, pattern: object) -> bool:
        if not isinstance(text, str) or not isinstance(pattern, str):
            return False
        found = _PATTERN.fullmatch(pattern) if len(pattern) <= _MOST_PATTERN else None
        if found is None:
            raise _TooMany
        repeated = sum(match[2] is not None for match in _PIECE.finditer(pattern))
        # A step of the matcher takes a hundredth of the time of a value.
        self._environment.spend(5 * len(pattern) + (len(text) + 2) ** (repeated + self._anywhere) // 100)
        # `.` is no end of a line.
        body = _PIECE.sub(lambda match: f"[^\\n\\r]{match[2] or ''}" if match[1] == "." else match[0], found[2])
        try:
            expression = re.compile(f"{found[1]}(?:{body}){found[5]}".replace("$", r"\Z"))
        except re.error:
            return False
        return (expression.search(text) if self._anywhere else expression.fullmatch(text)) is not None


class _Environment(JSONPathEnvironment):
    """The syntax of the RFC. What its functions and comparisons visit is counted, too."""

    lexer_class = _Lexer
    parser_class = _Parser
    max_recursion_depth = MAX_DEPTH + 1

    def __init__(self) -> None:
        super().__init__(strict=True)
        self.left = 0
        self.is_followed = True

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Match(self, anywhere=False)
        self.function_extensions["search"] = _Match(self, anywhere=True)

    def spend(self, values: int = 1) -> None:
        """Raise `_TooMany` if no value may be visited any more."""
        self.left -= values
        if self.left <= 0:
            raise _TooMany

    def is_truthy(self, obj: object) -> bool:
        self.spend()
        return super().is_truthy(obj)

    def compare(self, left: object, operator: str, right: object) -> bool:
        self.spend()
        return super().compare(left, operator, right)

    def _eq(self, left: object, right: object) -> bool:
        pending = [(UNDEFINED if left == [] and isinstance(left, NodeList) else left,
                    UNDEFINED if right == [] and isinstance(right, NodeList) else right)]  # fmt: skip
        while pending:
            self.spend()
            one, other = pending.pop()
            if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
                pending.extend((value, other[name]) for name, value in one.items())
            elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
                pending.extend(zip(one, other, strict=True))
            elif isinstance(one, dict | list) or one != other or isinstance(one, bool) is not isinstance(other, bool):
                return False
        return True

    def _lt(self, left: object, right: object) -> bool:
        return not isinstance(left, bool) and not isinstance(right, bool) and super()._lt(left, right)
