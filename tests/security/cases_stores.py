"""Hostile stores: every command on web servers whose answers have no end, lie, or lead elsewhere."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from security.attacks import Attack, Outcome
from security.hostile import (
    ROW,
    Answer,
    Request,
    bomb,
    dripping,
    endless,
    file,
    of_path,
    page,
    redirect,
    serving,
)

_INSIDE = "INTERNAL-SECRET"
_JSONL = ("--format", "jsonl", "--field", "id=id")
_SOON = ("--limit", "timeout=2")
_ONCE = {"CORPUSFMT_STORE_RETRIES": "0"}
#: Commands on a file, and on a folder, of a store.
_ON_FILE = {
    "validate": ("validate", "{url}/a.jsonl", *_JSONL, *_SOON),
    "validate-jobs": ("validate", "{url}/a.jsonl", *_JSONL, *_SOON, "--jobs", "2"),
    "convert": ("convert", "{url}/a.jsonl", "{out}", "--format", "jsonl", "--to", "dolma", *_SOON),
    "stats": ("stats", "{url}/a.jsonl", "--format", "jsonl", *_SOON),
    "show": ("show", "{url}/a.jsonl", "--format", "jsonl", "-n", "9999999", "--grep", "zzz", *_SOON),
    "compare": ("compare", "{url}/a.jsonl", "{url}/b.jsonl", "--old-format", "jsonl", "--new-format", "jsonl", *_SOON),
    "detect": ("detect", "{url}/a.jsonl"),
    "records": ("records", "{url}/croissant.json", "--record-set", "r", *_SOON),
    "build": ("build", "{url}/a.warc.wet.gz", "-o", "{out}", *_SOON),
    "fix": ("fix", "{url}/a.jsonl"),
    "render": ("report", "render", "{url}/r.json"),
    "baseline": ("validate", "{data}", "--baseline", "{url}/r.json"),
    "settings": ("validate", "{data}", "--config", "{url}/s.toml"),
}
_ON_FOLDER = {
    "validate-folder": ("validate", "{url}/d", *_SOON),
    "convert-folder": ("convert", "{url}/d", "{out}", "--to", "dolma", *_SOON),
    "stats-folder": ("stats", "{url}/d", *_SOON),
    "show-folder": ("show", "{url}/d"),
    "describe": ("describe", "{url}/d", *_SOON),
    "datasheet": ("datasheet", "{url}/d", "-o", "{out}", *_SOON),
    "verify": ("verify", "{url}/d", *_SOON),
    "detect-folder": ("detect", "{url}/d"),
    "build-folder": ("build", "{url}/d", "-o", "{out}", *_SOON),
    "pattern": ("validate", "{url}/d/*.jsonl", *_SOON),
    "seal": ("seal", "{url}/d"),
}
_ALL = _ON_FILE | _ON_FOLDER
_OF_FIRST_ROWS = {"detect", "detect-folder", "show-folder"}


@contextmanager
def _alone(folder: Path, answer: Answer) -> Iterator[list[str]]:
    with serving(answer, folder / "asked") as store:
        yield [store]


@contextmanager
def _beside_another(folder: Path, way: Callable[[str], Answer], *, allowed: bool) -> Iterator[list[str]]:
    """Serve a store that may lead to another, which has what only this machine can reach."""
    inside = file(b'{"id":"1","text":"%s"}\n' % _INSIDE.encode())
    with serving(inside, folder / "inside") as other, serving(way(other), folder / "asked") as store:
        yield [store, *([other] if allowed else [])]


def _data(folder: Path) -> None:
    path = folder / "data" / "documents" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(ROW)


def _attack(
    name: str, answer: Answer, command: tuple[str, ...], promise: Callable[[Outcome], None], **more: Any
) -> Attack:
    return Attack(f"store-{name}", _data, command, promise, serve=partial(_alone, answer=answer), **more)


def _leading(
    name: str,
    way: Callable[[str], Answer],
    command: tuple[str, ...],
    promise: Callable[[Outcome], None],
    *,
    allowed: bool = False,
    **more: Any,
) -> Attack:
    """Return an attack by a store that leads to another."""
    serve = partial(_beside_another, way=way, allowed=allowed)
    return Attack(f"store-{name}", _data, command, promise, serve=serve, **more)


def _ends(outcome: Outcome) -> None:
    """It is not valid, and nothing was published as if it were whole."""
    assert outcome.status in {1, 2, 3}, outcome.text
    assert "No such option" not in outcome.text
    assert "Missing" not in outcome.text
    assert not (outcome.folder / "out" / "MANIFEST.json").exists()


def _is_told(outcome: Outcome) -> None:
    """What the first rows are is no question of the end."""
    assert outcome.status == 0, outcome.text


def _takes_it_at_its_word(outcome: Outcome) -> None:
    """The file ends where the server said; the rest is no answer to anything."""
    assert outcome.status == 3 or "1 document" in outcome.text, outcome.text


def _says(text: str, status: int) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status == status, outcome.text
        assert text in outcome.text

    return promise


def _stays(outcome: Outcome) -> None:
    """Nobody else was asked; the guard sees connections, and this what was answered."""
    _ends(outcome)
    assert not (outcome.folder / "inside").exists()
    assert _INSIDE.encode() not in outcome.output()


def _stays_with_the_data(outcome: Outcome) -> None:
    """Nobody was asked, by no process."""
    assert outcome.status in {0, 1, 3}, outcome.text
    assert not (outcome.folder / "inside").exists()


def _follows(outcome: Outcome) -> None:
    """The other server was asked, without credentials, and is named."""
    asked = [json.loads(line) for line in (outcome.folder / "inside").read_text("utf-8").splitlines()]
    assert asked
    assert not any("Authorization" in headers or "Cookie" in headers for _, _, headers in asked)
    assert outcome.status == 0, outcome.text
    (here, there), *_ = outcome.report["arguments"]["redirects"].items()
    assert here.endswith("/a.jsonl")
    assert there.endswith("/latest/meta-data.jsonl?token=***")
    assert "hunter2" not in outcome.text


def _leads_there(outcome: Outcome) -> None:
    """The other server was asked, without credentials, and the user is told."""
    asked = [json.loads(line) for line in (outcome.folder / "inside").read_text("utf-8").splitlines()]
    assert asked
    assert not any("Authorization" in headers for _, _, headers in asked)
    assert " redirects to " in outcome.text


def _elsewhere(other: str, status: int = 302, to: str = "http://{other}/latest/meta-data.jsonl") -> Answer:
    return redirect(to.replace("{other}", other), status)


def _page_first(other: str) -> Answer:
    """A folder with a file that is elsewhere."""
    return of_path({"/d": page("a.jsonl")}, _elsewhere(other))


@contextmanager
def _unasked(folder: Path) -> Iterator[list[str]]:
    """Serve a store that no command may ask, whose name the data can learn."""
    with serving(file(ROW), folder / "inside") as store:
        (folder / "host").write_text(store)
        yield []


def _naming(folder: Path, card: str, rows: str, name: str) -> None:
    """Data of the Hub that names the store: in its card, in its rows, or in a script."""
    url = f"http://{(folder / 'host').read_text()}/a.jsonl"
    (folder / "data" / "b.jsonl").write_bytes(ROW)
    for path, text in (("README.md", f"---\n{card}\n---\n"), (name, rows)):
        target = folder / "data" / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text.replace("{url}", url))


@contextmanager
def _nobody(_folder: Path) -> Iterator[list[str]]:
    """Name an address at which nobody answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{free.getsockname()[1]}"]


_S3 = {
    "AWS_ENDPOINT_URL_S3": "{url}",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_MAX_ATTEMPTS": "1",
}
_HUB = {"HF_ENDPOINT": "{url}", "HF_HUB_DISABLE_TELEMETRY": "1"}
_CLIENTS: dict[str, tuple[dict[str, str], str]] = {"s3": (_S3, "s3://bucket/x"), "hub": (_HUB, "hf://datasets/me/x")}


def _of_parts(answer: Answer) -> Answer:
    """An object whose size is told, and whose parts are this answer; the Hub tells it by its API."""
    told = json.dumps([{"type": "file", "path": "a.jsonl", "size": len(ROW), "oid": "0" * 40}]).encode()
    commit = json.dumps({"id": "me/x", "sha": "0" * 40, "siblings": []}).encode()

    def asked(request: Request) -> None:
        if "Range" in request.headers and request.command == "GET":
            answer(request)
        elif request.path.startswith("/api/"):
            data = told if "/paths-info/" in request.path or "/tree/" in request.path else commit
            request.whole(data, Content_Type="application/json")
        else:
            request.whole(ROW, ETag='"1"')

    return asked


def _without_last_page(request: Request, *, leads_to: str = "") -> None:
    """Answer with a listing each of whose pages leads to a further one, perhaps elsewhere."""
    asked = re.search(r"(?:continuation-token|cursor)=([0-9]+)", request.path)
    number = int(asked[1]) if asked else 0
    paths = [f"{number}-{each}" for each in range(1000)]
    if "list-type=2" in request.path:
        said = "".join(f"<Contents><Key>x/{path}</Key><Size>1</Size></Contents>" for path in paths)
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{number + 1}</NextContinuationToken>"
        request.whole(f"<ListBucketResult>{more}{said}</ListBucketResult>".encode(), Content_Type="application/xml")
    elif "/tree/" in request.path:
        files = [{"type": "file", "path": path, "size": 1, "oid": "0" * 40} for path in paths]
        following = f"{leads_to or 'http://' + request.headers['Host']}{request.path.partition('?')[0]}"
        link = f'<{following}?recursive=True&cursor={number + 1}>; rel="next"'
        request.whole(json.dumps(files).encode(), Link=link, Content_Type="application/json")
    elif request.path.startswith("/api/"):
        request.whole(json.dumps({"id": "me/x", "sha": "0" * 40, "siblings": []}).encode())
    else:
        request.whole(b"{}", ETag='"1"')


_LEADING_ELSEWHERE: dict[str, Callable[[str], Answer]] = {
    "page": lambda other: partial(_without_last_page, leads_to=f"http://{other}"),
    "redirect": _elsewhere,
}
_OF_CLIENTS = {
    "endless-xml": endless(Content_Type="application/xml"),
    "endless-json": endless(b'{"a":[' + b" " * (1 << 20), Content_Type="application/json"),
    "endless-error": endless(status=403, Content_Type="application/xml"),
    "endless-chunked": endless(chunked=True, Content_Type="application/json"),
    "bomb": bomb(Content_Type="application/json"),
    "endless-parts": _of_parts(endless(status=206, Content_Range="bytes 0-34/35")),
    "chunked-parts": _of_parts(endless(chunked=True, status=206, Content_Range="bytes 0-34/35")),
    "bombs-for-parts": _of_parts(bomb(status=206, Content_Range="bytes 0-34/35")),
}
_WITHOUT_S3: dict[str, Callable[[Path], AbstractContextManager[list[str]]]] = {
    "s3-down": partial(_alone, answer=lambda request: request.whole(b"", 503)),
    "s3-broken": partial(_alone, answer=lambda request: request.whole(b"", 500)),
    "s3-no-server": _nobody,
}
_VALID = file(ROW)
_KINDS: dict[str, dict[str, Any]] = {
    "html": {"Content_Type": "text/html"},
    "html-charset": {"Content_Type": "Text/HTML; charset=utf-16"},
    "no-type": {},
    "json": {"Content_Type": "application/json"},
    "binary": {"Content_Type": "application/octet-stream"},
}
_LENGTHS: dict[str, dict[str, Any]] = {
    "no-length": {},
    "8-gib": {"Content_Length": str(8 << 30)},
    "no-number": {"Content_Length": "1" * 30},
}
_SPACES = b"<a" + b" " * (15 << 20)
_MANY = b"".join(b'<a href="%d/">x</a>' % number for number in range(60_000))
_DEEP = page("x/")
_LIMIT = _says("GEN003", 3)
_LARGE = _says("has more than the 16,777,216 bytes that can be read of it", 3)

_SECRET = "hunter2"
_QUERY = f"?token={_SECRET}&X-Amz-Signature=%2F{_SECRET}"
_NAMED = f"http://me:{_SECRET}@{{host}}"
_OF_ALL = [
    *("json", "jsonl", "sarif", "junit", "github", "gitlab", "markdown", "html", "concise", "grouped"),
]
_REPORTS = [part for name in _OF_ALL for part in ("--report", f"{name}={{out}}/{name}")]
_REPORTING = (*("--output-format", "full"), *_REPORTS)
_MANY_ANSWERS = {
    "whole": file(ROW),
    "broken": file(b"{\n"),
    "refused": lambda request: request.whole(_SECRET.encode(), 403),
    "down": lambda request: request.whole(b"", 500),
    "missing": of_path({}),
    "leads-elsewhere": redirect(f"http://127.0.0.2:9/?token={_SECRET}"),
    "page": page("a.jsonl", "b.jsonl?x=1"),
}
_WITH_SECRETS = {
    "validate": ("validate", f"{_NAMED}/a.jsonl{_QUERY}", *_JSONL, *_REPORTING, "--verbose"),
    "validate-two": ("validate", f"{_NAMED}/a.jsonl{_QUERY}", f"{_NAMED}/b.jsonl{_QUERY}", *_JSONL, *_REPORTING),
    "validate-folder": ("validate", f"{_NAMED}/d", "--format", "jsonl", *_REPORTING),
    "validate-pattern": ("validate", f"{_NAMED}/d/*.jsonl", *_JSONL, *_REPORTING),
    "convert": ("convert", f"{_NAMED}/a.jsonl{_QUERY}", "{out}/c", "--format", "jsonl", "--to", "dolma"),
    "stats": ("stats", f"{_NAMED}/a.jsonl{_QUERY}", "--format", "jsonl", "--output-format", "json"),
    "stats-text": ("stats", f"{_NAMED}/a.jsonl{_QUERY}", "--format", "jsonl"),
    "show": ("show", f"{_NAMED}/a.jsonl{_QUERY}", "--format", "jsonl"),
    "compare": (
        *("compare", f"{_NAMED}/a.jsonl{_QUERY}", f"{_NAMED}/b.jsonl{_QUERY}"),
        *("--old-format", "jsonl", "--new-format", "jsonl", "--output-format", "json"),
    ),
    "describe": ("describe", f"{_NAMED}/d", "-o", "{out}/croissant.json"),
    "describe-file": ("describe", f"{_NAMED}/a.jsonl{_QUERY}", "-o", "{out}/croissant.json"),
    "datasheet": ("datasheet", f"{_NAMED}/d", "--format", "jsonl", "-o", "{out}/sheet.html"),
    "detect": ("detect", f"{_NAMED}/a.jsonl{_QUERY}"),
    "records": ("records", f"{_NAMED}/croissant.json{_QUERY}", "--record-set", "r"),
    "verify": ("verify", f"{_NAMED}/d", "--manifest", f"{_NAMED}/m.json{_QUERY}", *_REPORTING),
    "build": ("build", f"{_NAMED}/a.warc.wet.gz{_QUERY}", "-o", "{out}/b"),
    "fix": ("fix", f"{_NAMED}/a.jsonl{_QUERY}"),
    "seal": ("seal", f"{_NAMED}/d{_QUERY}"),
    "render": ("report", "render", f"{_NAMED}/r.json{_QUERY}"),
    "baseline": ("validate", "{data}", "--baseline", f"{_NAMED}/r.json{_QUERY}"),
    "settings": ("validate", "{data}", "--config", f"{_NAMED}/s.toml{_QUERY}"),
    "list": ("build", f"{_NAMED}/a.paths{_QUERY}", "-o", "{out}/b", "--base", f"{_NAMED}/d"),
}
_ODD = {
    "no-package": ("validate", f"sftp://me:{_SECRET}@127.0.0.1/x"),
    "no-scheme": ("validate", f"nothing://me:{_SECRET}@127.0.0.1/x?token={_SECRET}"),
    "no-host": ("validate", f"http://me:{_SECRET}@/a.jsonl"),
    "slash": ("validate", f"http://me:pass/{_SECRET}@127.0.0.1/a.jsonl"),
    "user-alone": ("validate", f"http://{_SECRET}@{{host}}/a.jsonl", *_REPORTING),
    "fragment": ("validate", f"http://{{host}}/a.jsonl#token={_SECRET}"),
    "chained": ("validate", f"simplecache::http://me:{_SECRET}@{{host}}/a.jsonl"),
    "output": ("convert", "{data}", f"s3://me:{_SECRET}@bucket/x", "--to", "dolma"),
    "output-of-the-web": ("convert", "{data}", f"https://me:{_SECRET}@127.0.0.1/x?sig={_SECRET}", "--to", "dolma"),
    "report": ("validate", "{data}", "--report", f"json=https://me:{_SECRET}@127.0.0.1/x?sig={_SECRET}"),
    "map": ("validate", "{data}", "--map", f"x=https://me:{_SECRET}@127.0.0.1/x"),
    "shard": ("validate", f"http://me:{_SECRET}@{{host}}/x", "--shard", "1/2", "--report", "part={out}/p"),
    "stats-shard": ("stats", f"http://me:{_SECRET}@{{host}}/x", "--shard", "1/2", "-o", "{out}/p"),
    "state": ("convert", "{data}", "{out}/x", "--to", "dolma", "--state", f"s3://me:{_SECRET}@bucket/x"),
}


def _data_and_out(folder: Path) -> None:
    _data(folder)
    (folder / "out").mkdir()


def _keeps_secret(outcome: Outcome) -> None:
    assert "internal" not in outcome.text
    assert _SECRET.encode() not in outcome.output()
    names = [path.name for path in outcome.folder.rglob("*")]
    assert not any(_SECRET in name for name in names)


_ATTACKS = [
    # Credentials that the user gave: in nothing that is printed or saved.
    *(
        Attack(
            f"store-secret-{answer}-{name}",
            _data_and_out,
            command,
            _keeps_secret,
            serve=partial(_alone, answer=_MANY_ANSWERS[answer]),
            environment={"CORPUSFMT_STORE_RETRIES": "1"},
        )
        for answer in _MANY_ANSWERS
        for name, command in _WITH_SECRETS.items()
    ),
    *(
        Attack(
            f"store-secret-odd-{name}",
            _data_and_out,
            command,
            _keeps_secret,
            serve=partial(_alone, answer=_VALID),
            environment=_ONCE,
        )
        for name, command in _ODD.items()
    ),
    # Without end: each command, and for one each kind of answer.
    *(
        _attack(f"endless-html-{name}", endless(Content_Type="text/html"), command, _ends)
        for name, command in _ALL.items()
    ),
    *(
        # Without a suffix and a type, `d` is a file of rows.
        _attack(f"endless-no-type-{name}", endless(), command, _is_told if name in _OF_FIRST_ROWS else _ends)
        for name, command in _ALL.items()
    ),
    *(
        _attack(f"endless-{kind}-{length}", endless(**headers, **size), _ON_FILE["validate"], _ends)
        for kind, headers in _KINDS.items()
        for length, size in _LENGTHS.items()
    ),
    *(
        _attack(f"endless-chunked-{kind}", endless(chunked=True, **headers), _ON_FILE["validate"], _ends)
        for kind, headers in _KINDS.items()
    ),
    _attack("page-too-large", endless(Content_Type="text/html"), ("validate", "{url}/d"), _LARGE),
    _attack("page-too-large-verified", endless(Content_Type="text/html"), ("verify", "{url}/d"), _LARGE),
    _attack("endless-timeout", endless(), _ON_FILE["validate"], _LIMIT),
    _attack(
        "endless-part",
        lambda request: (
            endless(status=206, Content_Range="bytes 0-99/1000") if "Range" in request.headers else _VALID
        )(request),
        _ON_FILE["validate"],
        _ends,
    ),
    # Encoded.
    *(
        _attack(f"bomb-{kind}-{name}", bomb(**headers), _ALL[name], _ends)
        for kind, headers in _KINDS.items()
        for name in ("validate", "verify", "describe")
    ),
    _attack(
        "encoded",
        bomb(),
        ("validate", "{url}/a.jsonl", *_JSONL),
        _says("the answer is encoded with gzip, which was not asked for", 3),
    ),
    # Slow.
    *(
        _attack(f"drip-{kind}-{name}", dripping(ROW, **_KINDS[kind]), _ALL[name], _ends)
        for kind in ("html", "no-type", "json")
        for name in ("validate", "convert", "stats", "show", "compare", "records", "describe", "verify")
    ),
    _attack("drip-timeout", dripping(b"<", Content_Type="text/html"), _ON_FILE["validate"], _LIMIT),
    # Listings.
    _attack("listing-without-end", _DEEP, ("validate", "{url}/d"), _says("levels of folders", 3)),
    _attack("listing-without-end-described", _DEEP, _ALL["describe"], _ends),
    _attack("listing-wide", lambda r: r.whole(_MANY, Content_Type="text/html"), ("validate", "{url}/d"), _ends),
    _attack("listing-of-spaces", lambda r: r.whole(_SPACES, Content_Type="text/html"), _ALL["validate-folder"], _ends),
    _attack(
        "listing-of-tags", lambda r: r.whole(b"<a href" * (2 << 20), Content_Type="text/html"), _ALL["verify"], _ends
    ),
    _attack(
        "listing-leads-elsewhere",
        of_path(
            {
                "/d": page(
                    "http://127.0.0.2:9/d/a.jsonl",
                    "//127.0.0.2:9/d/a.jsonl",
                    "../x",
                    "/etc/passwd",
                    "file:///etc/passwd",
                )
            }
        ),
        _ALL["validate-folder"],
        _ends,
    ),
    # Lies.
    _attack(
        "longer-than-said",
        lambda r: r.whole(ROW * 9, Content_Length="35"),
        ("validate", "{url}/a.jsonl", *_JSONL),
        _takes_it_at_its_word,
    ),
    _attack(
        "shorter-than-said",
        lambda r: r.whole(ROW, Content_Length="99999"),
        _ON_FILE["validate"],
        _ends,
        environment={"CORPUSFMT_STORE_RETRIES": "1"},
    ),
    # What honest servers do, too.
    _attack(
        "no-head",
        lambda r: r.whole(b"", 405) if r.command == "HEAD" else _VALID(r),
        ("validate", "{url}/a.jsonl", *_JSONL),
        _says("VALID: 0 errors", 0),
    ),
    _attack(
        "no-parts",
        lambda r: r.whole(ROW * 300_000, Content_Type="application/json"),
        ("stats", "{url}/a.jsonl", "--format", "jsonl", "--output-format", "json"),
        _says('"documents": 300000', 0),
    ),
    # Redirections.
    *(_leading(f"redirect-{name}", _elsewhere, command, _stays) for name, command in _ALL.items()),
    *(
        _leading(f"redirect-{name}", way, _ON_FILE["validate"], _stays)
        for name, way in {
            **{str(status): partial(_elsewhere, status=status) for status in (301, 303, 307, 308)},
            "other-host": partial(_elsewhere, to="http://localhost:1/a.jsonl"),
            "no-scheme": partial(_elsewhere, to="//{other}/latest/meta-data.jsonl"),
            "user": partial(_elsewhere, to="http://{host}@{other}/a.jsonl"),
            "upper-case": partial(_elsewhere, to="HTTP://{other}/a.jsonl"),
            "tls": partial(_elsewhere, to="https://{other}/a.jsonl"),
        }.items()
    ),
    _leading("redirect-of-a-file-in-a-folder", _page_first, _ALL["validate-folder"], _stays),
    _leading(
        "redirect-in-two-steps",
        lambda other: of_path({"/a.jsonl": redirect("/b.jsonl"), "/b.jsonl": _elsewhere(other)}),
        _ON_FILE["validate"],
        _stays,
    ),
    _leading(
        "redirect-followed",
        partial(_elsewhere, to="http://{other}/latest/meta-data.jsonl?token=hunter2"),
        ("validate", "http://me:hunter2@{host}/a.jsonl", *_JSONL, "--follow-links", "--output-format", "json"),
        _follows,
        allowed=True,
    ),
    *(
        _leading(
            f"redirect-of-{command[-2].strip('-')}{'-followed' * followed}",
            _elsewhere,
            (*command, *(["--follow-links"] if followed else [])),
            _leads_there if followed else _stays,
            allowed=followed,
            environment=_ONCE,
        )
        for command in (
            ("verify", "{data}", "--manifest", "http://me:hunter2@{host}/m.json"),
            ("validate", "{data}", "--baseline", "http://me:hunter2@{host}/r.json"),
            ("validate", "{data}", "--config", "http://me:hunter2@{host}/s.toml"),
            ("validate", "{data}", "--profile", "http://me:hunter2@{host}/p.toml"),
            ("report", "render", "http://me:hunter2@{host}/r.json"),
        )
        for followed in (False, True)
    ),
    *(
        _attack(f"redirect-to-{name}", redirect(to), command, _ends)
        for name, to in {
            "file": "file:///etc/passwd",
            "ftp": "ftp://127.0.0.1/x",
            "data": "data:,x",
            "nothing": "http://",
        }.items()
        for command in [_ON_FILE["validate"]]
    ),
    _attack(
        "redirect-to-file-followed",
        redirect("file:///etc/passwd"),
        (*_ON_FILE["validate"], "--follow-links"),
        _ends,
    ),
    _attack("redirect-in-circles", redirect("/a.jsonl"), _ON_FILE["validate"], _ends),
    _attack("redirect-without-end", lambda r: redirect(f"{r.path}x")(r), _ON_FILE["validate"], _ends),
    _attack(
        "redirect-within",
        of_path({"/a.jsonl": redirect("/b.jsonl"), "/b.jsonl": _VALID}),
        ("validate", "{url}/a.jsonl", *_JSONL),
        _says("VALID: 0 errors", 0),
    ),
    *(
        Attack(
            f"store-{name}-{command[0]}", _data, command, _says("error: cannot ", 3), serve=way, environment=_ONCE | _S3
        )
        for name, way in _WITHOUT_S3.items()
        for command in (
            ("validate", "s3://bucket/x"),
            ("verify", "s3://bucket/x"),
            ("stats", "s3://bucket/x"),
            ("convert", "{data}", "s3://bucket/x", "--to", "jsonl"),
            ("describe", "{data}", "-o", "s3://bucket/x/croissant.json"),
        )
    ),
    *(
        Attack(
            f"store-no-server-{name}",
            _data,
            _ALL[name],
            _says("error: cannot read", 3),
            serve=_nobody,
            environment=_ONCE,
        )
        for name in ("validate", "verify", "stats", "convert", "describe", "compare", "detect", "build")
    ),
    # Other clients than that of the web.
    *(
        _attack(
            f"{client}-{name}-{command[0]}",
            answer,
            (command[0], command[1].replace("{store}", store), *command[2:]),
            _ends,
            environment=_ONCE | environment,
        )
        for client, (environment, store) in _CLIENTS.items()
        for name, answer in _OF_CLIENTS.items()
        for command in (
            ("validate", "{store}/a.jsonl", *_JSONL),
            ("verify", "{store}"),
            ("stats", "{store}/a.jsonl", "--format", "jsonl"),
            ("describe", "{store}"),
        )
    ),
    *(
        _attack(
            f"{client}-without-last-page-{command}",
            _without_last_page,
            (command, store, *_SOON),
            _ends,
            environment=_ONCE | environment,
        )
        for client, (environment, store) in _CLIENTS.items()
        for command in ("validate", "verify", "stats", "describe")
    ),
    *(
        _leading(
            f"hub-{name}-elsewhere-{command}",
            way,
            (command, "hf://datasets/me/x", *_SOON),
            _stays,
            environment={"HF_TOKEN": _SECRET, **_ONCE, **_HUB},
        )
        for name, way in _LEADING_ELSEWHERE.items()
        for command in ("validate", "verify", "stats", "describe")
    ),
    # The library that loads what is published: the data names a store.
    *(
        Attack(
            f"store-named-by-{name}",
            partial(_naming, card=card, rows=rows, name=path),
            ("validate", "{data}", "--profile", "hub", "--output-format", "json"),
            _stays_with_the_data,
            serve=_unasked,
        )
        for name, card, rows, path in (
            ("card", "configs:\n- config_name: a\n  data_files: {url}", '{"text":"x"}\n', "a.jsonl"),
            (
                "chained-card",
                "configs:\n- config_name: a\n  data_files: zip://a.jsonl::{url}",
                '{"text":"x"}\n',
                "a.jsonl",
            ),
            (
                "picture",
                "dataset_info:\n  features:\n  - name: text\n    dtype: string\n  - name: image\n    dtype: image",
                '{"text":"x","image":{"path":"{url}","bytes":null}}\n',
                "a.jsonl",
            ),
            ("metadata", "license: mit", '{"text":"x","file_name":"{url}"}\n', "metadata.jsonl"),
            ("sound", "license: mit", '{"text":"x","audio":"{url}"}\n', "train/metadata.jsonl"),
            (
                "script",
                "license: mit",
                'import urllib.request\nurllib.request.urlopen("{url}")\n',
                "data.py",
            ),
        )
    ),
    # Down.
    *(
        _attack(
            f"status-{status}-{name}",
            lambda request, status=status: request.whole(b"", status),  # type: ignore[misc]
            _ALL[name],
            _says("error: cannot read", expected),
            environment=_ONCE,
        )
        for status, expected in ((500, 3), (502, 3), (503, 3), (507, 3), (403, 2), (401, 2))
        for name in ("validate", "verify", "stats", "compare", "describe", "convert", "detect")
    ),
]

# One of each kind; the others are of `make attacks`.
_QUICK = {
    *("store-endless-html-validate", "store-endless-no-type-validate", "store-endless-html-describe"),
    *("store-page-too-large-verified", "store-endless-part", "store-bomb-html-validate", "store-encoded"),
    *("store-drip-html-validate", "store-drip-json-verify", "store-listing-without-end", "store-listing-of-tags"),
    *("store-longer-than-said", "store-no-head", "store-no-parts", "store-redirect-validate", "store-redirect-verify"),
    *("store-redirect-followed", "store-redirect-to-file", "store-redirect-in-circles", "store-redirect-within"),
    *("store-redirect-of-a-file-in-a-folder", "store-status-500-validate", "store-status-403-validate"),
    *("store-redirect-of-manifest", "store-redirect-of-manifest-followed", "store-redirect-of-render-followed"),
    *("store-hub-page-elsewhere-verify", "store-hub-without-last-page-verify"),
    *("store-no-server-validate", "store-s3-down-validate", "store-secret-whole-validate", "store-secret-broken-build"),
    *(
        "store-named-by-card",
        "store-named-by-picture",
        "store-secret-refused-stats",
        "store-secret-whole-convert",
        "store-secret-odd-chained",
    ),
}
ATTACKS = [replace(each, slow=each.name not in _QUICK) for each in _ATTACKS]
