"""Records that are accepted at once by the kernel are those of which the rules have nothing more to say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oscar.corpus import records, release
from strategies import examples

from corpusfmt.formats.oscar import records as reading
from corpusfmt.formats.oscar.format import FORMAT
from corpusfmt.formats.oscar.metadata import MetadataScan
from corpusfmt.io.lines import Block
from corpusfmt.rules import Grading, Judge

USUAL = records(release("1.1", {"af": [[1]]}).languages["af"][0])[0]
LANGUAGES = "warc-identified-content-language"
REMOVED = object()
VALUES: dict[str, list[object]] = {
    "content-length": ["7", "0", "", "07", "9" * 18, "9" * 19, "1" * 21, "-1", "١", 7],
    "warc-target-uri": ["a:b", "<a:b>", "<:b", "a:", "a:\n", "a:b\n", "1a:b", "a_b:c", "A+.-9:é", "", "ab", ":b", "é:b"],
    "warc-type": ["conversion", "warcinfo", "conversion "],
    "content-type": ["text/plain", "text/html", None],
    "warc-date": [
        "2021-02-24T17:55:29Z", "2021-02-29T17:55:29Z", "2024-02-29T23:59:59Z", "2021-02-24T17:55:60Z", "2021-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z", "2021-02-24t17:55:29z", "2021-02-24 17:55:29Z", "2021-02-24T17:55:29.5Z", "2021-02-24T17:55+0000",
        "2021-02-24T17:55:29+00:00", "2021-13-01T00:00:00Z", "2021-02-24T24:00:00Z", "2021-02-24",
    ],
    "warc-refers-to": ["", "<urn:uuid:0>", "é"],
    "warc-block-digest": ["sha1:" + "A2" * 16, "sha1:" + "A1" * 16, "sha1:" + "a2" * 16, "sha1:" + "A2" * 15, "md5:" + "A" * 32],
    "warc-record-id": [
        "<urn:uuid:62c2ffca-5cd8-44a7-b9c5-8f30c4a5e5a1>", "<urn:uuid:62C2FFCA-5cd8-44a7-b9c5-8f30c4a5e5a1>", "<urn:uuid:0>",
        "<URN:UUID:62c2ffca-5cd8-44a7-b9c5-8f30c4a5e5a1>", "<urn:uuid:62c2ffcg-5cd8-44a7-b9c5-8f30c4a5e5a1>",
    ],
    LANGUAGES: ["afr", "eng,afr", " afr ,eng", "eng", "", "afrikaans"],
    "corpusfmt-document": ["{}", '{"id":"1"}'],
    "Warc-Truncated": ["length"],
    "warc-truncated": ["length", "\0", "é"],
    "a-é": [""],
}  # fmt: skip
CHANGES = st.sampled_from([(name, value) for name, values in VALUES.items() for value in (*values, REMOVED)])
NUMBERS = st.sampled_from(["0", "1", "7", "7", "7", "-0", "1.0", "9223372036854775807", "9223372036854775808", '"7"'])


@st.composite
def lines(draw: Callable[..., Any]) -> bytes:
    """Draw a line of metadata: most often a record that is as usual but for a header or two."""
    headers = dict(USUAL["headers"])
    for name, value in draw(st.lists(CHANGES, max_size=2)):
        headers.pop(name, None)
        if value is not REMOVED:
            headers[name] = value
    if draw(st.integers(0, 5)) == 0:
        headers = {name: headers[name] for name in draw(st.permutations(list(headers)))}
    if draw(st.integers(0, 7)) == 0:
        headers = {name: text for name, text in headers.items() if name.startswith("corpusfmt-")}
    text = json.dumps(headers, ensure_ascii=draw(st.booleans()))
    pairs = [f'"headers":{text}', f'"nb_sentences":{draw(NUMBERS)}', f'"offset": {draw(NUMBERS)}']
    pairs += draw(st.sampled_from([[], [], [], [], ['"more":[1,{"a":0.5}]'], ['"offset":7'], [""]]))
    line = "{" + ",".join(pairs) + "}"
    damage = draw(st.integers(0, 30))
    line = {
        0: line[:-1],
        1: "",
        2: f"{line}\r",
        3: f" {line}",
        4: line.replace('"warc-type"', '"warc-t\\u0079pe"'),
    }.get(damage, line)
    return line.encode() if damage != 5 else line.encode().replace(b"uuid", b"\xff")


def judged(data: bytes, *, by_rules: bool = False) -> tuple[Any, ...]:
    """Return all that comes of the lines of a block."""
    taken: dict[int, tuple[int, int]] = {}

    def take(ids: Sequence[int], first_row: int, headers: Sequence[int]) -> None:
        taken.update(enumerate(zip(ids, headers, strict=True), first_row))

    judge = Judge(FORMAT.rules, Grading(), version="1.1", path="x")
    scan = MetadataScan("x", "af", judge, 1 << 20, take)
    with pytest.MonkeyPatch.context() as patch:
        if by_rules:
            patch.setattr(reading, "_native", None)
        scan.feed(Block(data, 1, 0))
    scan.finish()
    rows = scan.rows
    return judge.tally.findings, scan.found, rows.offsets, rows.counts, rows.lengths, rows.lines, taken


@given(st.lists(st.tuples(lines(), st.sampled_from([1, 1, 1, 2, 5])), max_size=6), st.booleans())
@examples(400)
def test_what_is_accepted_at_once_is_as_the_rules_say(drawn: list[tuple[bytes, int]], ended: bool) -> None:
    data = b"\n".join(line for line, times in drawn for _ in range(times)) + b"\n" * ended
    assert judged(data) == judged(data, by_rules=True)


def test_the_kernel_accepts_usual_records() -> None:
    native = pytest.importorskip("corpusfmt.formats._native", reason="the native extension is not built")
    line = json.dumps(USUAL).encode() + b"\n"
    own = b'{"headers":{"corpusfmt-document":"{\\"id\\":\\"1\\"}"},"nb_sentences":2,"offset":3}\n'
    size, offsets, counts, lengths, ids, _, changes = native.records(line + own + b"{}\n" + line)
    assert size == len(line + own)
    assert (offsets[1], counts[1], lengths[1], ids[1]) == (3, 2, None, None)
    assert changes == [(0, 0, USUAL["headers"][LANGUAGES]), (1, 0, None)]
    assert native.records(b"{}\n" + line) is None
