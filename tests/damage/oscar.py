"""Damage to releases of OSCAR 1.0 and 1.1: that of tests/oscar/mutations.py, and what files suffer in transport and editing."""

from __future__ import annotations

import bz2
import random
from collections.abc import Callable, Sequence

from damage.kinds import KINDS, Kind, Tree
from oscar.corpus import gunzip, gz, relisted
from oscar.mutations import BOTH, MUTATIONS, NEW, OFFSETS, OLD, corpus, edited, list_path, pick, text_path
from support import zstd

Apply = Callable[[random.Random, Tree], Tree]

_FREE = "any text is a text"
_COUNTED_NOWHERE = "OSCAR 1.0 counts its documents and lines nowhere"
_LISTED_NOWHERE = "nothing lists the languages and parts of a release"


def _register(name: str, versions: Sequence[str], apply: Apply, rules: frozenset[str], undetectable: str = "") -> None:
    def make(version: str) -> Callable[[random.Random], Tree]:
        return lambda rng: apply(rng, corpus(version, rng.randrange(10_000)).tree())

    for version in versions:
        KINDS.append(Kind(f"OSCAR {version}", name.replace("_", " "), make(version), rules, undetectable))


def damage(
    *rules: str, versions: frozenset[str] = BOTH, undetectable: str = "", old: str = ""
) -> Callable[[Apply], Apply]:
    """Register a kind; `old` says why it cannot be told in OSCAR 1.0 alone."""

    def register(apply: Apply) -> Apply:
        for version in sorted(versions):
            why = undetectable or (old if version == "1.0" else "")
            _register(apply.__name__, [version], apply, frozenset() if why else frozenset(rules), why)
        return apply

    return register


for _each in MUTATIONS:
    _register(_each.name, sorted(_each.versions), _each.apply, _each.rules)


def _texts(rng: random.Random, tree: Tree, change: Callable[[list[bytes]], object]) -> Tree:
    return edited(tree, text_path(rng, tree), change)


def _a_line(rng: random.Random, lines: list[bytes]) -> int:
    return rng.choice([index for index, line in enumerate(lines) if line])


def _replaced(rng: random.Random, tree: Tree, change: Callable[[bytes], bytes]) -> Tree:
    def one(lines: list[bytes]) -> None:
        index = _a_line(rng, lines)
        lines[index] = change(lines[index])

    return _texts(rng, tree, one)


def _whole(rng: random.Random, tree: Tree, change: Callable[[bytes], bytes]) -> Tree:
    path = text_path(rng, tree)
    return relisted(tree | {path: gz(change(gunzip(tree[path])))})


@damage(undetectable=_FREE)
def change_a_word(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line[:10].replace(b" ", b"-") + line[10:] + b"!")


@damage(undetectable=_FREE)
def swap_two_lines_of_a_document(rng: random.Random, tree: Tree) -> Tree:
    def one(lines: list[bytes]) -> None:
        index = _a_line(rng, lines)
        lines[index] = b" ".join(reversed(lines[index].split(b" ")))

    return _texts(rng, tree, one)


@damage("OSC307", "OSC308", "OSC309")
def decode_as_latin_1(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: (line + " – é".encode()).decode("latin-1").encode())


@damage(undetectable="a question mark is a character like others")
def replace_letters_by_question_marks(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line.replace(b"a", b"?"))


@damage(undetectable="pages contain it")
def replacement_character(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + "\ufffd".encode())


@damage("OSC306", "OSC307")
def nul(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + b"\0")


@damage("OSC306")
def carriage_return(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + b"\r")


@damage("OSC306", "OSC307", *OFFSETS)
def windows_line_ends(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: data.replace(b"\n", b"\r\n"))


@damage("OSC306", "OSC307")
def byte_order_mark(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: b"\xef\xbb\xbf" + data)


@damage("GEN201")
def utf_16(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: data.decode().encode("utf-16"))


@damage("GEN201")
def latin_1(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + " é".encode("latin-1"))


@damage("GEN201")
def half_a_surrogate_pair(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + b"\xed\xa0\x80")


@damage("GEN201")
def cut_inside_a_character(rng: random.Random, tree: Tree) -> Tree:
    return _replaced(rng, tree, lambda line: line + "€".encode()[:2])


@damage(*OFFSETS, "OSC302", "OSC304", old=_COUNTED_NOWHERE)
def drop_a_line(rng: random.Random, tree: Tree) -> Tree:
    return _texts(rng, tree, lambda lines: lines.pop(_a_line(rng, lines)))


@damage(*OFFSETS, old=_COUNTED_NOWHERE)
def repeat_a_document(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: data + data[: data.index(b"\n\n") + 2])


@damage(*OFFSETS, old=_COUNTED_NOWHERE)
def lose_the_last_document(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: data[: data.rstrip(b"\n").rindex(b"\n\n") + 2])


@damage("OSC302", *OFFSETS)
def blank_line_at_the_start(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: b"\n" + data)


@damage("OSC302", "OSC303", *OFFSETS)
def blank_lines_at_the_end(rng: random.Random, tree: Tree) -> Tree:
    return _whole(rng, tree, lambda data: data + b"\n\n\n")


@damage(undetectable=_LISTED_NOWHERE)
def lose_a_language(rng: random.Random, tree: Tree) -> Tree:
    code = rng.choice(["af", "de", "ja"])
    return {path: data for path, data in tree.items() if not path.startswith(f"{code}/")}


@damage(undetectable=_LISTED_NOWHERE)
def lose_the_last_part_and_its_checksum(rng: random.Random, tree: Tree) -> Tree:
    return relisted({path: data for path, data in tree.items() if "_part_3" not in path})


@damage("OSC107")
def lose_a_part_and_its_checksum(rng: random.Random, tree: Tree) -> Tree:
    return relisted({path: data for path, data in tree.items() if "_part_2" not in path})


@damage("OSC108", "OSC107", "OSC203")
def pad_a_number(rng: random.Random, tree: Tree) -> Tree:
    path = rng.choice([path for path in sorted(tree) if "_part_" in path])
    return {(each.replace("_part_", "_part_0") if each == path else each): data for each, data in tree.items()}


@damage("GEN101")
def empty_file(rng: random.Random, tree: Tree) -> Tree:
    return relisted(tree | {pick(rng, tree): b""})


@damage("GEN106")
def compressed_twice(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return relisted(tree | {path: gz(tree[path])})


@damage("GEN101")
def another_compression(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    data = gunzip(tree[path])
    return relisted(tree | {path: bz2.compress(data) if rng.random() < 0.5 else bytes(zstd.compress(data))})


@damage("OSC109")
def foreign_file(rng: random.Random, tree: Tree) -> Tree:
    return tree | {f"de/{rng.choice(['notes.md', 'Thumbs.db', '.DS_Store', 'x.csv'])}": b"x"}


@damage("OSC201", "OSC204")
def empty_list(rng: random.Random, tree: Tree) -> Tree:
    return tree | {list_path(rng, tree): b""}


@damage("OSC601", "OSC602", "OSC603", "OSC604", versions=NEW, undetectable="a header may have any address")
def change_an_address(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree, has="_meta")
    return relisted(tree | {path: gz(gunzip(tree[path]).replace(b"http", b"https", 1))})


@damage(versions=OLD, undetectable="OSCAR 1.0 says of a document nothing but its text")
def join_two_documents(rng: random.Random, tree: Tree) -> Tree:
    def change(data: bytes) -> bytes:
        at = data.index(b"\n\n")
        return data[:at] + data[at + 1 :]

    return _whole(rng, tree, change)
