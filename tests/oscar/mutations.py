"""Ways to damage a valid release at one place, and the rules that must report it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oscar.corpus import Release, Tree, gunzip, gz, release, relisted

BOTH = frozenset({"1.0", "1.1"})
NEW = frozenset({"1.1"})
OLD = frozenset({"1.0"})

#: The rules that tell where text and metadata part.
OFFSETS = frozenset({"OSC501", "OSC502", "OSC503", "OSC504", "OSC505"})


@dataclass(frozen=True)
class Mutation:
    """One kind of damage: one of `rules` must be reported, and nothing but these and `also`."""

    name: str
    versions: frozenset[str]
    apply: Callable[[random.Random, Tree], Tree]
    rules: frozenset[str]
    also: frozenset[str] = frozenset()


MUTATIONS: list[Mutation] = []


def mutation(
    *rules: str, versions: frozenset[str] = BOTH, also: frozenset[str] = frozenset()
) -> Callable[[Callable[[random.Random, Tree], Tree]], Callable[[random.Random, Tree], Tree]]:
    def register(apply: Callable[[random.Random, Tree], Tree]) -> Callable[[random.Random, Tree], Tree]:
        MUTATIONS.append(Mutation(apply.__name__, versions, apply, frozenset(rules), also))
        return apply

    return register


def corpus(version: str, seed: int) -> Release:
    """Return a valid release of its own for each seed."""
    rng = random.Random(seed)
    parts = [
        [[rng.randrange(1, 7) for _ in range(rng.randrange(2, 16))] for _ in range(number)] for number in (1, 3, 1)
    ]
    return release(version, dict(zip(("af", "de", "ja"), parts, strict=True)), seed)


def pick(rng: random.Random, tree: Tree, *, has: str = "") -> str:
    return rng.choice([path for path in sorted(tree) if path.endswith(".gz") and has in path])


def text_path(rng: random.Random, tree: Tree) -> str:
    return pick(rng, tree, has=".txt.gz")


def metadata_path(rng: random.Random, tree: Tree) -> str:
    return pick(rng, tree, has="_meta")


def list_path(rng: random.Random, tree: Tree) -> str:
    return rng.choice([path for path in sorted(tree) if path.endswith("_sha256.txt")])


def edited(tree: Tree, path: str, change: Callable[[list[bytes]], Any]) -> Tree:
    """Change the lines of a compressed file in place, and list its new digest."""
    lines = gunzip(tree[path]).split(b"\n")[:-1]
    change(lines)
    return relisted(tree | {path: gz(b"".join(line + b"\n" for line in lines))})


def edited_list(rng: random.Random, tree: Tree, change: Callable[[list[str], int], Any]) -> Tree:
    path = list_path(rng, tree)
    lines = tree[path].decode().split("\n")[:-1]
    change(lines, rng.randrange(len(lines)))
    return tree | {path: "".join(line + "\n" for line in lines).encode()}


def edited_record(rng: random.Random, tree: Tree, change: Callable[[dict[str, Any], int], Any]) -> Tree:
    def one(lines: list[bytes]) -> None:
        index = rng.randrange(len(lines))
        record = json.loads(lines[index])
        change(record, index)
        lines[index] = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()

    return edited(tree, metadata_path(rng, tree), one)


def place(rng: random.Random, lines: list[bytes], *, blank: bool) -> int:
    """Return the index of a line, blank or not, but never of the last one."""
    return rng.choice([index for index, line in enumerate(lines[:-1]) if blank == (not line)])


# Files as files ----------------------------------------------------------------------------------------------------


@mutation("GEN101", "OSC205", also=frozenset({"GEN102"}))
def flip_a_bit(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    data = bytearray(tree[path])
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return tree | {path: bytes(data)}


@mutation("GEN101")
def cut_a_file(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return tree | {path: tree[path][: rng.randrange(len(tree[path]))]}


@mutation("GEN101")
def zero_a_block(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    data, start = tree[path], rng.randrange(12, len(tree[path]) - 24)
    return tree | {path: data[:start] + bytes(16) + data[start + 16 :]}


@mutation("GEN101", "GEN102")
def append_bytes(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return tree | {path: tree[path] + rng.randbytes(rng.randrange(1, 50))}


@mutation("GEN102")
def append_zeros(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return tree | {path: tree[path] + bytes(rng.randrange(1, 600))}


@mutation("GEN103")
def split_members(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    data = gunzip(tree[path])
    middle = rng.randrange(len(data))
    return relisted(tree | {path: gz(data[:middle]) + gz(data[middle:])})


@mutation("GEN101")
def store_uncompressed(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return relisted(tree | {path: gunzip(tree[path])})


@mutation("OSC105", "OSC107", "OSC203", "OSC401")
def remove_a_file(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    return {each: data for each, data in tree.items() if each != path}


@mutation("OSC108", also=frozenset({"OSC107", "OSC203", "OSC204", "OSC401"}))
def misname_a_file(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    changed = path.replace(".gz", rng.choice(["", ".GZ", ".zst", "-old.gz", ".gz.part"]))
    return {changed if each == path else each: data for each, data in tree.items()}


@mutation("OSC104", also=frozenset({"OSC107", "OSC203", "OSC204", "OSC401"}))
def use_another_prefix(rng: random.Random, tree: Tree) -> Tree:
    path = pick(rng, tree)
    folder, _, name = path.partition("/")
    return {f"{folder}/ru{name[2:]}" if each == path else each: data for each, data in tree.items()}


@mutation("OSC102")
def shout_a_directory(rng: random.Random, tree: Tree) -> Tree:
    return {path.replace("af/", "AF/"): data for path, data in tree.items()}


@mutation("OSC109")
def nest_a_directory(rng: random.Random, tree: Tree) -> Tree:
    return tree | {f"de/{rng.choice(['old', 'en', 'de_part_4.txt.gz'])}/file": b"x"}


@mutation("OSC106", also=frozenset({"OSC204", "GEN402"}))
def add_a_single_file(rng: random.Random, tree: Tree) -> Tree:
    return tree | {"de/de.txt.gz": tree["de/de_part_1.txt.gz"]}


# Checksum lists ----------------------------------------------------------------------------------------------------


@mutation("OSC201")
def remove_a_list(rng: random.Random, tree: Tree) -> Tree:
    path = list_path(rng, tree)
    return {each: data for each, data in tree.items() if each != path}


@mutation("OSC205")
def change_a_digest(rng: random.Random, tree: Tree) -> Tree:
    def change(lines: list[str], index: int) -> None:
        at = rng.randrange(64)
        digit = rng.choice([each for each in "0123456789abcdef" if each != lines[index][at]])
        lines[index] = lines[index][:at] + digit + lines[index][at + 1 :]

    return edited_list(rng, tree, change)


@mutation("OSC205")
def swap_two_digests(rng: random.Random, tree: Tree) -> Tree:
    path = "de/de_sha256.txt"
    lines = tree[path].decode().split("\n")[:-1]
    one, other = rng.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other][:64] + lines[one][64:], lines[one][:64] + lines[other][64:]
    return tree | {path: "".join(line + "\n" for line in lines).encode()}


@mutation("OSC201", "OSC204")
def drop_a_name(rng: random.Random, tree: Tree) -> Tree:
    return edited_list(rng, tree, lambda lines, index: lines.pop(index))


@mutation("OSC206")
def list_a_name_twice(rng: random.Random, tree: Tree) -> Tree:
    return edited_list(rng, tree, lambda lines, index: lines.append(lines[index]))


@mutation("OSC202", "OSC203", also=frozenset({"OSC207"}))
def spoil_a_list_line(rng: random.Random, tree: Tree) -> Tree:
    def change(lines: list[str], index: int) -> None:
        at = rng.randrange(len(lines[index]))
        lines[index] = lines[index][:at] + rng.choice("?~\r/") + lines[index][at + 1 :]

    return edited_list(rng, tree, change)


@mutation("OSC207")
def use_another_notation(rng: random.Random, tree: Tree) -> Tree:
    glue = rng.choice([" ", "\t"])
    return edited_list(rng, tree, lambda lines, index: lines.__setitem__(index, lines[index].replace("  ", glue)))


# Text --------------------------------------------------------------------------------------------------------------


@mutation("OSC205")
def change_text_unlisted(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    lines = gunzip(tree[path]).split(b"\n")
    index = place(rng, lines, blank=False)
    lines[index] += b"."
    return tree | {path: gz(b"\n".join(lines))}


@mutation(*OFFSETS, "OSC302", versions=NEW)
def drop_a_text_line(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return edited(tree, path, lambda lines: lines.pop(place(rng, lines, blank=False)))


@mutation(*OFFSETS, versions=NEW)
def add_a_text_line(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return edited(tree, path, lambda lines: lines.insert(place(rng, lines, blank=False), b"y" * 120))


@mutation(*OFFSETS, versions=NEW, also=frozenset({"OSC302"}))
def empty_a_text_line(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return edited(tree, path, lambda lines: lines.__setitem__(place(rng, lines, blank=False), b""))


@mutation("OSC302", *OFFSETS)
def repeat_a_separator(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return edited(tree, path, lambda lines: lines.insert(place(rng, lines, blank=True), b""))


@mutation("OSC503", *OFFSETS, versions=NEW)
def drop_a_separator(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return edited(tree, path, lambda lines: lines.pop(place(rng, lines, blank=True)))


@mutation("OSC304")
def fill_a_separator(rng: random.Random, tree: Tree) -> Tree:
    path, filling = text_path(rng, tree), rng.choice([b" ", b"\t", b"\r", b" \t \r"])
    return edited(tree, path, lambda lines: lines.__setitem__(place(rng, lines, blank=True), filling))


@mutation(*OFFSETS, versions=NEW)
def drop_a_document(rng: random.Random, tree: Tree) -> Tree:
    def change(lines: list[bytes]) -> None:
        end = place(rng, lines, blank=True)
        start = max((index + 1 for index in range(end) if not lines[index]), default=0)
        del lines[start : end + 1]

    return edited(tree, text_path(rng, tree), change)


@mutation("OSC303")
def drop_the_last_newlines(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return relisted(tree | {path: gz(gunzip(tree[path]).rstrip(b"\n"))})


@mutation("OSC301")
def drop_all_text(rng: random.Random, tree: Tree) -> Tree:
    path = text_path(rng, tree)
    return relisted(tree | {path: gz(b"\n" * rng.randrange(3))})


@mutation("OSC305", also=frozenset({"OSC605"}))
def cut_a_text_line(rng: random.Random, tree: Tree) -> Tree:
    def change(lines: list[bytes]) -> None:
        index = place(rng, lines, blank=False)
        lines[index] = lines[index].decode()[: rng.randrange(1, 100)].strip().encode() or b"x"

    return edited(tree, text_path(rng, tree), change)


@mutation("GEN201")
def spoil_utf8(rng: random.Random, tree: Tree) -> Tree:
    bad = rng.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe4\xb8", b"\x80", b"\xf4\x90\x80\x80"])
    path = text_path(rng, tree)

    def change(lines: list[bytes]) -> None:
        index = place(rng, lines, blank=False)
        lines[index] = lines[index][:-4].decode("utf-8", "ignore").encode() + bad + b"x"

    return edited(tree, path, change)


@mutation("OSC306", "OSC307")
def add_a_control_character(rng: random.Random, tree: Tree) -> Tree:
    character = rng.choice(["\r", "\0", "\x0b", "\x1f", "\u0085", "\u009f"])
    path = text_path(rng, tree)

    def change(lines: list[bytes]) -> None:
        index = place(rng, lines, blank=False)
        text = lines[index].decode()
        at = rng.randrange(1, len(text))
        lines[index] = (text[:at] + character + text[at + 1 :]).encode()

    return edited(tree, path, change)


# Metadata ----------------------------------------------------------------------------------------------------------


@mutation("OSC505", *OFFSETS, versions=NEW)
def drop_a_record(rng: random.Random, tree: Tree) -> Tree:
    return edited(tree, metadata_path(rng, tree), lambda lines: lines.pop(rng.randrange(len(lines))))


@mutation("OSC502", "OSC505", versions=NEW)
def repeat_a_record(rng: random.Random, tree: Tree) -> Tree:
    path = metadata_path(rng, tree)

    def change(lines: list[bytes]) -> None:
        index = rng.randrange(len(lines))
        lines.insert(index, lines[index])

    return edited(tree, path, change)


@mutation("OSC502", "OSC503", versions=NEW)
def swap_two_records(rng: random.Random, tree: Tree) -> Tree:
    def change(lines: list[bytes]) -> None:
        one, other = rng.sample(range(len(lines)), 2)
        lines[one], lines[other] = lines[other], lines[one]

    return edited(tree, metadata_path(rng, tree), change)


@mutation(*OFFSETS, versions=NEW)
def shift_an_offset(rng: random.Random, tree: Tree) -> Tree:
    by = rng.choice([-3, -1, 1, 2, 50, 10**6])
    return edited_record(rng, tree, lambda record, _: record.update(offset=abs(record["offset"] + by) or 1))


@mutation("OSC501", "OSC503", versions=NEW)
def shift_all_offsets(rng: random.Random, tree: Tree) -> Tree:
    by = rng.randrange(500, 10**9)

    def change(lines: list[bytes]) -> None:
        for index in range(rng.choice([0, len(lines) // 2]), len(lines)):
            record = json.loads(lines[index])
            record["offset"] += by
            lines[index] = json.dumps(record, separators=(",", ":")).encode()

    return edited(tree, metadata_path(rng, tree), change)


@mutation("OSC503", "OSC504", versions=NEW)
def change_a_count(rng: random.Random, tree: Tree) -> Tree:
    by = rng.choice([1, 2, 9, 10**20])
    return edited_record(rng, tree, lambda record, _: record.update(nb_sentences=record["nb_sentences"] + by))


@mutation("GEN303", versions=NEW)
def make_a_count_infinite(rng: random.Random, tree: Tree) -> Tree:
    return edited_record(rng, tree, lambda record, _: record.update(nb_sentences=10 ** rng.choice([309, 4200])))


@mutation("GEN301", "GEN201", versions=NEW)
def spoil_json(rng: random.Random, tree: Tree) -> Tree:
    path = metadata_path(rng, tree)

    def change(lines: list[bytes]) -> None:
        index = rng.randrange(len(lines))
        line = lines[index]
        lines[index] = rng.choice(
            [line[:-1], line + line, b"\xef\xbb\xbf" + line, b"[", b"nul", line.replace(b"conversion", b"\xff", 1)]
        )

    return edited(tree, path, change)


@mutation("GEN301", versions=NEW)
def add_a_blank_record(rng: random.Random, tree: Tree) -> Tree:
    path = metadata_path(rng, tree)
    return edited(tree, path, lambda lines: lines.insert(rng.randrange(len(lines) + 1), b" " * rng.randrange(2)))


@mutation("OSC402", versions=NEW)
def break_the_schema(rng: random.Random, tree: Tree) -> Tree:
    name = rng.choice(["offset", "nb_sentences"])
    value: Any = rng.choice([None, True, "3", 1.5, -1, [], {}])
    return edited_record(rng, tree, lambda record, _: record.update({name: value}))


@mutation("OSC402", versions=NEW)
def drop_a_property(rng: random.Random, tree: Tree) -> Tree:
    return edited_record(rng, tree, lambda record, _: record.pop(rng.choice(["headers", "offset", "nb_sentences"])))


@mutation("OSC403", versions=NEW)
def break_a_header(rng: random.Random, tree: Tree) -> Tree:
    value: Any = rng.choice([None, 7, ["x"], {}])
    return edited_record(
        rng, tree, lambda record, _: record["headers"].update({rng.choice(sorted(record["headers"])): value})
    )


@mutation("OSC601", versions=NEW)
def drop_a_header(rng: random.Random, tree: Tree) -> Tree:
    return edited_record(rng, tree, lambda record, _: record["headers"].pop(rng.choice(sorted(record["headers"]))))


@mutation("OSC602", "OSC603", "OSC604", "OSC605", "OSC606", "OSC607", versions=NEW)
def change_a_header(rng: random.Random, tree: Tree) -> Tree:
    name = rng.choice(
        [
            "warc-record-id",
            "warc-date",
            "warc-type",
            "content-type",
            "content-length",
            "warc-block-digest",
            "warc-identified-content-language",
        ]
    )
    return edited_record(rng, tree, lambda record, _: record["headers"].update({name: rng.choice(["", "x", "0\n"])}))


@mutation("OSC602", versions=NEW)
def use_an_id_twice(rng: random.Random, tree: Tree) -> Tree:
    path = metadata_path(rng, tree)

    def change(lines: list[bytes]) -> None:
        one, other = rng.sample(range(len(lines)), 2)
        first, second = json.loads(lines[one]), json.loads(lines[other])
        second["headers"]["warc-record-id"] = first["headers"]["warc-record-id"]
        lines[other] = json.dumps(second, separators=(",", ":")).encode()

    return edited(tree, path, change)


@mutation(*OFFSETS, "OSC605", versions=NEW)
def swap_two_parts(rng: random.Random, tree: Tree) -> Tree:
    one, other = (f"de/de_meta_part_{number}.jsonl.gz" for number in rng.sample([1, 2, 3], 2))
    return relisted(tree | {one: tree[other], other: tree[one]})
