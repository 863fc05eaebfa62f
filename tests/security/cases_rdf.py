"""Descriptions in RDF whose parsers would fetch, expand, recurse or take forever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from security.attacks import Attack, Outcome

_SC, _RDF = "https://schema.org/", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_TURTLE = f"@prefix sc: <{_SC}> . @prefix rdf: <{_RDF}> . @prefix cr: <http://mlcommons.org/croissant/> . <d> a sc:Dataset .\n"
_VALIDATE = ("validate", "{data}")


def _turtle(text: Callable[[], str], folder: Path) -> None:
    (folder / "data/croissant.ttl").write_text(_TURTLE + text(), "utf-8")


def _xml(content: Callable[[], str], folder: Path, dtd: str = "") -> None:
    secret = folder / "outside" / "secret.txt"
    secret.write_text("secret")
    text = f"<!DOCTYPE r [{dtd.replace('SECRET', str(secret))}]>" if dtd else ""
    text += f'<rdf:RDF xmlns:rdf="{_RDF}" xmlns:sc="{_SC}"><sc:Dataset rdf:about="d">{content()}</sc:Dataset></rdf:RDF>'
    (folder / "data/croissant.rdf").write_text(text, "utf-8")


def _says(code: str, outcome: Outcome) -> None:
    assert outcome.status in {0, 1, 3}, outcome.text
    assert code in outcome.text, outcome.text[:1000]
    assert "secret" not in outcome.text.replace("secret.txt", "")


def _lists() -> str:
    cells = (
        f"_:b{n} rdf:first _:c{n} ; rdf:rest rdf:nil . _:c{n} rdf:first _:b{n + 1} ; rdf:rest rdf:nil .\n"
        for n in range(3000)
    )
    return f"<d> sc:x _:b0 .\n{''.join(cells)}"


_LAUGHS = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
_RING = "_:a sc:x _:b . _:b sc:x _:a, <d> . _:l rdf:first 1 ; rdf:rest _:l . <d> sc:x <d>, _:a, _:l ."

ATTACKS = [
    *(
        Attack(f"turtle-{name}", partial(_turtle, text), command, partial(_says, code))
        for name, text, code, command in (
            ("brackets", lambda: f"<d> sc:x {'[ sc:x ' * 100_000} .", "CRO104", _VALIDATE),
            ("parentheses", lambda: f"<d> sc:x {'( ' * 100_000} .", "CRO104", _VALIDATE),
            ("chain", lambda: "".join(f"_:b{n} sc:x _:b{n + 1} .\n" for n in range(8_000)), "CRO2", _VALIDATE),
            ("lists-in-lists", _lists, "CRO2", _VALIDATE),
            ("long-list", lambda: f"<d> sc:x ( {'1 ' * 30_000}) .", "CRO2", _VALIDATE),
            ("ring", lambda: _RING, "CRO2", _VALIDATE),
            ("ring-written", lambda: _RING, "+++", ("fix", "{data}", "--to", "json-ld", "--diff")),
            ("triples", lambda: f"<d> sc:x {','.join(map(str, range(120_000)))} .", "CRO104", _VALIDATE),
            ("large", lambda: f'<d> sc:x "{"x" * 20_000_000}" .', "CRO104", _VALIDATE),
            ("literal", lambda: f'<d> sc:x "{"x" * 8_000_000}" .', "CRO2", _VALIDATE),
            ("xml-in-it", lambda: f'<d> sc:x "{"<a/>" * 2_000_000}"^^rdf:XMLLiteral .', "CRO2", _VALIDATE),
            ("json-in-it", lambda: f'<d> cr:data "{"[" * 200_000}"^^rdf:JSON .', "CRO2", _VALIDATE),
            ("digits", lambda: f"<d> sc:x {'1' * 5_000_000} .", "CRO108", _VALIDATE),
            ("prefixes", lambda: "".join(f"@prefix p{n}: <http://x/> .\n" for n in range(50_000)), "CRO2", _VALIDATE),
            ("import", lambda: "@base <http://127.0.0.1:9/> . @import <http://127.0.0.1:9/a> .", "CRO108", _VALIDATE),
            ("imports", lambda: "<d> <http://www.w3.org/2002/07/owl#imports> <http://127.0.0.1:9/a> .", "CRO2", _VALIDATE),
            ("escape", lambda: '<d> sc:name "\\u001b[31m\\nVALID" ; sc:url <a\x1b[31m> .', "CRO2", _VALIDATE),
        )
    ),
    *(
        Attack(f"rdf-xml-{name}", partial(_xml, content, dtd=dtd), _VALIDATE, partial(_says, code))
        for name, dtd, content, code in (
            ("laughs", _LAUGHS, lambda: "<sc:name>&a12;</sc:name>", "CRO108"),
            ("blowup", f'<!ENTITY a "{"x" * 100_000}">', lambda: f"<sc:name>{'&a;' * 100_000}</sc:name>", "CRO10"),
            ("file", '<!ENTITY a SYSTEM "file://SECRET">', lambda: "<sc:name>&a;</sc:name>", "CRO108"),
            ("parameter", '<!ENTITY % a SYSTEM "http://127.0.0.1:9/a"> %a;', lambda: "", "CRO108"),
            ("deep", "", lambda: "<sc:x><rdf:Description>" * 5_000 + "</rdf:Description></sc:x>" * 5_000, "CRO2"),
            ("xml-in-it", "", lambda: f'<sc:x rdf:parseType="Literal">{"<a/>" * 20_000}</sc:x>', "CRO2"),
        )
    ),
]  # fmt: skip
