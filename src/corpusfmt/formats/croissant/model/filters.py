"""Internal: Filters of JSON paths, as RFC 9535 has them: `?@.id > 1 && match(@['kind'], "a.*")`.

What the RFC does not have (regular expressions after `=~`, arithmetic, other functions) raises `FilterFault`.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct

from corpusfmt.formats.croissant.model.iregexp import RegexpFault, regexp
from corpusfmt.formats.croissant.model.jsonpath import (
    Budget,
    Filter,
    Step,
    Test,
    TooMany,
    selected,
    space,
    steps_at,
    text_of,
)

_Value = Callable[[Any, Any, Budget], Any]

_LITERAL = re.compile(
    r"""(?P<number>-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,3})?)(?![0-9.eE])
      | (?P<text>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")
      | (?P<word>true|false|null)\b""",
    re.VERBOSE | re.DOTALL,
)
_CALL = re.compile(r"([a-z][a-z_0-9]*)\(")
_SIGN = re.compile(r"[=!<>]=|[<>]")
_ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MOST_OPERANDS = 32
_MOST_LEVELS = 16
_NOTHING = object()


class FilterFault(ValueError):
    """The filter is not supported."""


class _Operand(Struct, frozen=True):
    """Something that has a value, selects values (`nodes`), or is true or not (`logical`)."""

    kind: OneOf["literal", "value", "single", "nodes", "logical"]
    value: _Value


def filter_at(text: str, position: int) -> tuple[Filter, int]:
    """Return the filter that begins at a place in a text, and where it ends. Raises `FilterFault`, and `PathFault`."""
    parser = _Parser(text, position)
    test = parser.either(0)
    return Filter(test, parser.operands), parser.position


class _Parser:
    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.position = position
        self.operands = 0

    def either(self, level: int) -> Test:
        tests = [self._both(level)]
        while self._takes("||"):
            tests.append(self._both(level))
        return tests[0] if len(tests) == 1 else lambda value, root, left: any(test(value, root, left) for test in tests)

    def _both(self, level: int) -> Test:
        tests = [self._one(level)]
        while self._takes("&&"):
            tests.append(self._one(level))
        return tests[0] if len(tests) == 1 else lambda value, root, left: all(test(value, root, left) for test in tests)

    def _one(self, level: int) -> Test:
        if level > _MOST_LEVELS:
            raise FilterFault("parentheses nest too deep")
        self.position = space(self._text, self.position)
        negated = not self._text.startswith("!=", self.position) and self._takes("!")
        if self._takes("("):
            test = self.either(level + 1)
            if not self._takes(")"):
                raise FilterFault("a parenthesis is not closed")
        else:
            test = self._comparison(level, may_compare=not negated)
        return (lambda value, root, left: not test(value, root, left)) if negated else test

    def _comparison(self, level: int, *, may_compare: bool) -> Test:
        one = self._operand(level)
        self.position = space(self._text, self.position)
        sign = _SIGN.match(self._text, self.position)
        if sign is None or not may_compare:
            return _test_of(one)
        self.position = sign.end()
        other = self._operand(level)
        if {one.kind, other.kind} & {"nodes", "logical"}:
            raise FilterFault("a comparison of what may be several values, or a condition")
        first, second = one.value, other.value
        if sign[0] in _ORDERED:
            holds = _ORDERED[sign[0]]
            return lambda value, root, left: _in_order(holds, first(value, root, left), second(value, root, left))
        wanted = sign[0] == "=="
        return lambda value, root, left: _equal(first(value, root, left), second(value, root, left)) is wanted

    def _operand(self, level: int) -> _Operand:
        self.operands += 1
        if self.operands > _MOST_OPERANDS or level > _MOST_LEVELS:
            raise FilterFault(f"more than {_MOST_OPERANDS} values, or functions that nest too deep")
        self.position = space(self._text, self.position)
        literal = _LITERAL.match(self._text, self.position)
        if literal is not None:
            self.position = literal.end()
            value = text_of(literal["text"]) if literal["text"] else json.loads(literal["number"] or literal["word"])
            return _Operand("literal", lambda _value, _root, _left: value)
        call = _CALL.match(self._text, self.position)
        if call is not None:
            self.position = call.end()
            return self._call(call[1], level)
        mark = self._text[self.position : self.position + 1]
        if mark not in ("@", "$") or not mark:
            raise FilterFault(f"character {self.position + 1}: expected a value")
        steps, self.position = steps_at(self._text, self.position + 1, strict=True)
        self.operands += len(steps)
        return _query(steps, of_root=mark == "$")

    def _call(self, name: str, level: int) -> _Operand:
        arguments: list[_Operand] = []
        while not self._takes(")"):
            if arguments and not self._takes(","):
                raise FilterFault(f"the arguments of `{name}` do not end")
            arguments.append(self._operand(level + 1))
        function = _FUNCTIONS.get((name, len(arguments)))
        if function is None:
            raise FilterFault(f"no function `{name}` of {len(arguments)} arguments")
        return function(*arguments)

    def _takes(self, sign: str) -> bool:
        start = space(self._text, self.position)
        if not self._text.startswith(sign, start):
            return False
        self.position = start + len(sign)
        return True


def _test_of(operand: _Operand) -> Test:
    found = operand.value
    if operand.kind == "single":
        return lambda value, root, left: found(value, root, left) is not _NOTHING
    if operand.kind in ("nodes", "logical"):
        return lambda value, root, left: bool(found(value, root, left))
    raise FilterFault("a value without a comparison")


def _query(steps: list[Step], *, of_root: bool) -> _Operand:
    """Return a query: of one value at most where all its steps are names and indices."""
    names = [step.value for step in steps if step.kind in ("name", "index") and not step.deep]
    if len(names) == len(steps):
        return _Operand("single", lambda value, root, _left: _found(root if of_root else value, names))
    if any(step.kind == "filter" and not isinstance(step.value, Filter) for step in steps):
        raise FilterFault("a filter in it is not followed")
    return _Operand("nodes", lambda value, root, left: selected([root if of_root else value], steps, root, left))


def _found(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, _NOTHING) if isinstance(value, dict) else _NOTHING
        else:
            inside = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if inside else _NOTHING
    return value


# --- functions ---


def _value_of(operand: _Operand) -> _Value:
    if operand.kind in ("nodes", "logical"):
        raise FilterFault("a function of one value is given what may be several")
    return operand.value


def _nodes_of(operand: _Operand) -> _Value:
    if operand.kind == "nodes":
        return operand.value
    if operand.kind != "single":
        raise FilterFault("a function of a query is given a value")

    def nodes(value: Any, root: Any, left: Budget) -> list[Any]:
        found = operand.value(value, root, left)
        return [] if found is _NOTHING else [found]

    return nodes


def _length(operand: _Operand) -> _Operand:
    found = _value_of(operand)

    def length(value: Any, root: Any, left: Budget) -> Any:
        each = found(value, root, left)
        return len(each) if isinstance(each, str | list | dict) else _NOTHING

    return _Operand("value", length)


def _count(operand: _Operand) -> _Operand:
    found = _nodes_of(operand)
    return _Operand("value", lambda value, root, left: len(found(value, root, left)))


def _only(operand: _Operand) -> _Operand:
    found = _nodes_of(operand)

    def only(value: Any, root: Any, left: Budget) -> Any:
        nodes = found(value, root, left)
        return nodes[0] if len(nodes) == 1 else _NOTHING

    return _Operand("value", only)


def _matching(texts: _Operand, patterns: _Operand, *, anywhere: bool) -> _Operand:
    text_of_value, pattern_of = _value_of(texts), _value_of(patterns)

    def matches(value: Any, root: Any, left: Budget) -> bool:
        text, pattern = text_of_value(value, root, left), pattern_of(value, root, left)
        if not isinstance(text, str) or not isinstance(pattern, str):
            return False
        try:
            expression = regexp(pattern)
        except RegexpFault:
            return False
        if len(text) * expression.size > left.left:
            raise TooMany
        left.spend(len(text))
        return expression.matches(text, anywhere=anywhere)

    return _Operand("logical", matches)


_FUNCTIONS: dict[tuple[str, int], Callable[..., _Operand]] = {
    ("length", 1): _length,
    ("count", 1): _count,
    ("value", 1): _only,
    ("match", 2): lambda text, pattern: _matching(text, pattern, anywhere=False),
    ("search", 2): lambda text, pattern: _matching(text, pattern, anywhere=True),
}


# --- comparison ---


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_order(holds: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    ordered = (_is_number(one) and _is_number(other)) or (isinstance(one, str) and isinstance(other, str))
    if ordered:
        return holds(one, other)
    return holds in (operator.le, operator.ge) and _equal(one, other)


def _equal(one: Any, other: Any) -> bool:
    pending = [(one, other)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            pending.extend((value, other[name]) for name, value in one.items())
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            pending.extend(zip(one, other, strict=True))
        else:
            comparable = type(one) is type(other) or (_is_number(one) and _is_number(other))
            if not comparable or isinstance(one, dict | list) or one != other:
                return False
    return True
