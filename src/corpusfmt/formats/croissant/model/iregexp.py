"""Internal: I-Regexp (RFC 9485), as `match` and `search` of JSON paths have it: matched in a time that grows with text and
pattern, without exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from unicodedata import category

from msgspec import Struct, field

_Takes = Callable[[str], bool]

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", **{mark: mark for mark in "()*+-.?[\\]^{|}"}}
_CATEGORIES = frozenset(
    "L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs C Cc Cf Cn Co".split()  # noqa: SIM905
)
_COUNT = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_MOST_STATES, _MOST_LEVELS = 2000, 50


class RegexpFault(ValueError):
    """A pattern is not an I-Regexp, or larger than what is matched here."""


class _State(Struct, eq=False):
    """A place in a pattern: the character that leads on from it, or the places that are reached without one."""

    takes: _Takes | None = None
    after: list[_State] = field(default_factory=list)


#: The first and the last state of a piece of a pattern.
_Piece = tuple[_State, _State]


class Regexp:
    """A pattern; `size` is what one character of a text costs at most, in steps.

    `^` at its beginning and `$` at its end are anchors, as authors mean them.
    """

    def __init__(self, text: str) -> None:
        self._begins = text.startswith("^")
        self._ends = re.search(r"(?<!\\)(?:\\\\)*\$\Z", text) is not None
        parser = _Parser(text[self._begins : len(text) - self._ends])
        self._start, self._end = parser.whole()
        self.size = parser.states

    def matches(self, text: str, *, anywhere: bool) -> bool:
        """Tell whether the pattern matches all of a text, or something in it."""
        now = _reached([self._start])
        for character in text:
            if anywhere and not self._ends and self._end in now:
                return True
            found = [
                each for state in now if state.takes is not None and state.takes(character) for each in state.after
            ]
            now = _reached([*found, self._start] if anywhere and not self._begins else found)
            if not now:
                return False
        return self._end in now


@lru_cache(maxsize=64)
def regexp(text: str) -> Regexp:
    """Return a pattern. Raises `RegexpFault`."""
    return Regexp(text)


def _reached(states: Iterable[_State]) -> dict[_State, None]:
    found: dict[_State, None] = {}
    pending = list(states)
    while pending:
        state = pending.pop()
        if state not in found:
            found[state] = None
            if state.takes is None:
                pending += state.after
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.states = 0

    def whole(self) -> _Piece:
        piece = self._either(0)
        if self._at < len(self._text):
            raise RegexpFault(f"`{self._text[self._at]}` at character {self._at + 1}")
        return piece

    def _state(self, takes: _Takes | None = None, after: Iterable[_State] = ()) -> _State:
        self.states += 1
        if self.states > _MOST_STATES:
            raise RegexpFault("it is too large")
        return _State(takes, [*after])

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _either(self, level: int) -> _Piece:
        if level > _MOST_LEVELS:
            raise RegexpFault("its parentheses nest too deep")
        branches = [self._branch(level)]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._branch(level))
        if len(branches) == 1:
            return branches[0]
        end = self._state()
        for _, last in branches:
            last.after.append(end)
        return self._state(after=[first for first, _ in branches]), end

    def _branch(self, level: int) -> _Piece:
        first = last = self._state()
        while self._peek() not in ("", "|", ")"):
            begin = self._at
            start, end = self._atom(level)
            after_atom = self._at
            least, most = self._quantifier()
            after_quantifier = self._at
            if (least, most) != (1, 1):
                start, end = self._times(begin, after_atom, level, least, most)
                self._at = after_quantifier
            last.after.append(start)
            last = end
        return first, last

    def _times(self, begin: int, end: int, level: int, least: int, most: int | None) -> _Piece:
        """Return an atom repeated this many times, each read anew."""
        first = last = self._state()
        for _ in range(least):
            start, stop = self._again(begin, end, level)
            last.after.append(start)
            last = stop
        if most is None:
            start, stop = self._again(begin, end, level)
            loop = self._state(after=[start])
            stop.after.append(loop)
            last.after.append(loop)
            return first, loop
        done = self._state()
        for _ in range(most - least):
            start, stop = self._again(begin, end, level)
            last.after += [start, done]
            last = stop
        last.after.append(done)
        return first, done

    def _again(self, begin: int, end: int, level: int) -> _Piece:
        self._at = begin
        piece = self._atom(level)
        assert self._at == end
        return piece

    def _quantifier(self) -> tuple[int, int | None]:
        mark = self._peek()
        if mark in ("*", "+", "?") and mark:
            self._at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        count = _COUNT.match(self._text, self._at)
        if count is None:
            return 1, 1
        self._at = count.end()
        least = int(count[1])
        most = least if count[2] is None else int(count[3]) if count[3] else None
        if most is not None and most < least:
            raise RegexpFault(f"`{count[0]}` ends before it begins")
        return least, most

    def _atom(self, level: int) -> _Piece:
        mark = self._peek()
        self._at += 1
        if mark == "(":
            piece = self._either(level + 1)
            if self._peek() != ")":
                raise RegexpFault("a parenthesis is not closed")
            self._at += 1
            return piece
        if mark == ".":
            return self._one(lambda character: character not in "\n\r")
        if mark == "[":
            return self._one(self._members())
        if mark == "\\":
            return self._one(self._escape())
        if mark in "*+?{}])":
            raise RegexpFault(f"`{mark}` at character {self._at}")
        return self._one(mark.__eq__)

    def _one(self, takes: _Takes) -> _Piece:
        end = self._state()
        return self._state(takes, [end]), end

    def _escape(self) -> _Takes:
        mark = self._peek()
        self._at += 1
        if mark in ("p", "P"):
            end = self._text.find("}", self._at)
            name = self._text[self._at + 1 : end]
            if self._peek() != "{" or name not in _CATEGORIES:
                raise RegexpFault("an unknown category of characters")
            self._at = end + 1
            return lambda character: category(character).startswith(name) is (mark == "p")
        if mark not in _ESCAPED:
            raise RegexpFault(f"`\\{mark}` is not an escape")
        return _ESCAPED[mark].__eq__

    def _members(self) -> _Takes:
        negated = self._peek() == "^"
        self._at += negated
        parts: list[_Takes] = []
        while self._peek() != "]" or not parts:
            if self._peek() == "-" and (not parts or self._text[self._at + 1 : self._at + 2] == "]"):
                self._at += 1
                parts.append("-".__eq__)
            else:
                parts.append(self._range())
        self._at += 1
        return lambda character: any(takes(character) for takes in parts) is not negated

    def _range(self) -> _Takes:
        if self._text.startswith(("\\p", "\\P"), self._at):
            self._at += 1
            return self._escape()
        low = self._member()
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] == "]":
            return low.__eq__
        self._at += 1
        high = self._member()
        if high < low:
            raise RegexpFault(f"the range from `{low}` ends at `{high}`")
        return lambda character: low <= character <= high

    def _member(self) -> str:
        mark = self._peek()
        self._at += 1
        if mark == "\\":
            mark = _ESCAPED.get(self._peek(), "")
            self._at += 1
        elif mark in ("-", "[", "]"):
            mark = ""
        if not mark:
            raise RegexpFault(f"a class of characters is not right at character {self._at}")
        return mark
