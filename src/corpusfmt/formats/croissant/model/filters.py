"""Internal: Filters of JSON paths, as RFC 9535 compares: `?@.id > 1 && @['kind'] == "a"`, existence, `&&`, `||`,
`!` and parentheses.

What is beyond that (functions, regular expressions, queries that may select several values) raises `FilterFault`.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any

from corpusfmt.formats.croissant.model.jsonpath import Filter, Test

_Operand = Callable[[Any, Any], Any]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sign>&&|\|\||[=!<>]=|[<>!()])
      | (?P<root>[@$])
      | (?P<number>-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,3})?)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<word>true|false|null)\b
    )""",
    re.VERBOSE | re.DOTALL,
)
_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_\x80-\U0010ffff][0-9A-Za-z_\x80-\U0010ffff]*)
      | \[\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<index>-?[0-9]{1,18}))\s*\]""",
    re.VERBOSE | re.DOTALL,
)
_ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MOST_OPERANDS = 32
_MOST_LEVELS = 16
_NOTHING = object()


class FilterFault(ValueError):
    """A filter that is not followed here."""


def parse_filter(text: str) -> Filter:
    """Return the filter that a text after `?` is. Raises `FilterFault`."""
    parser = _Parser(text)
    test = parser.either(0)
    if text[parser.position :].strip():
        raise FilterFault(f"`{text[parser.position :].strip()[:1]}` at character {parser.position + 1}")
    return Filter(test, parser.operands)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0
        self.operands = 0

    def either(self, level: int) -> Test:
        tests = [self._both(level)]
        while self._takes("||"):
            tests.append(self._both(level))
        return tests[0] if len(tests) == 1 else lambda value, root: any(test(value, root) for test in tests)

    def _both(self, level: int) -> Test:
        tests = [self._one(level)]
        while self._takes("&&"):
            tests.append(self._one(level))
        return tests[0] if len(tests) == 1 else lambda value, root: all(test(value, root) for test in tests)

    def _one(self, level: int) -> Test:
        if level > _MOST_LEVELS:
            raise FilterFault("parentheses nest too deep")
        negated = self._takes("!")
        if self._takes("("):
            test = self.either(level + 1)
            if not self._takes(")"):
                raise FilterFault("a parenthesis is not closed")
        else:
            test = self._comparison(may_compare=not negated)
        return (lambda value, root: not test(value, root)) if negated else test

    def _comparison(self, *, may_compare: bool) -> Test:
        left, is_query = self._operand()
        sign = next((each for each in ("==", "!=", "<=", ">=", "<", ">") if may_compare and self._takes(each)), None)
        if sign is None:
            if not is_query:
                raise FilterFault("a value that is compared to nothing")
            return lambda value, root: left(value, root) is not _NOTHING
        right, _ = self._operand()
        if sign in _ORDERED:
            holds = _ORDERED[sign]
            return lambda value, root: _in_order(holds, left(value, root), right(value, root))
        wanted = sign == "=="
        return lambda value, root: _equal(left(value, root), right(value, root)) is wanted

    def _operand(self) -> tuple[_Operand, bool]:
        self.operands += 1
        if self.operands > _MOST_OPERANDS:
            raise FilterFault(f"more than {_MOST_OPERANDS} values")
        token = _TOKEN.match(self._text, self.position)
        if token is None or token["sign"]:
            raise FilterFault(f"character {self.position + 1}: expected a value")
        self.position = token.end()
        if token["root"]:
            return self._query(of_root=token["root"] == "$"), True
        literal = _text_of(token["text"]) if token["text"] else json.loads(token["number"] or token["word"])
        return (lambda _value, _root: literal), False

    def _query(self, *, of_root: bool) -> _Operand:
        steps: list[str | int] = []
        while step := _STEP.match(self._text, self.position):
            self.position = step.end()
            self.operands += 1
            steps.append(int(step["index"]) if step["index"] else step["name"] or _text_of(step["text"]))
        return lambda value, root: _found(root if of_root else value, steps)

    def _takes(self, sign: str) -> bool:
        token = _TOKEN.match(self._text, self.position)
        if token is None or token["sign"] != sign:
            return False
        self.position = token.end()
        return True


def _text_of(quoted: str) -> str:
    inside = quoted[1:-1]
    if quoted[0] == "'":
        inside = re.sub(
            r'\\.|"', lambda found: {"\\'": "'", '"': '\\"'}.get(found[0], found[0]), inside, flags=re.DOTALL
        )
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except json.JSONDecodeError:
        raise FilterFault(f"`{quoted[:40]}` is not a string") from None


def _found(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, _NOTHING) if isinstance(value, dict) else _NOTHING
        else:
            inside = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if inside else _NOTHING
    return value


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
