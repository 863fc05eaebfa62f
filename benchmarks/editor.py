"""How long after a keystroke an editor has the findings of the language server in a description of 60 kB.

    python benchmarks/editor.py [--rounds 21] [--kilobytes 60]

A keystroke sends the whole text. The server waits 25 ms for the next one, checks, and sends the findings; the limit of the project is
300 ms. At the end 3,000 states are sent, a thousand a second or as many as the server takes: the time is that after the last of them.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from measuring import table
from validate_croissant import description

_EDITS = 3000
_URI = "untitled:croissant.json"


def texts(size: int) -> dict[str, str]:
    """Return descriptions of about so many bytes."""
    whole = description(size // 750)
    clean = json.dumps(whole, indent=2)
    for each in whole["recordSet"][0]["field"]:
        each |= {"dataType": "sc:Txt", "source": {"fileObject": {"@id": "missing.csv"}}, "unknown": 1}
    wrong = json.dumps(whole, indent=2)
    empty = json.dumps(whole | {"recordSet": [], "distribution": [{"@type": "cr:FileObject"}] * (size // 45)}, indent=2)
    return {"clean": clean, "wrong fields": wrong, "files without properties": empty, "half of it": clean[: size // 2]}


class Editor:
    """An editor that has one text open."""

    def __init__(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "corpusfmt", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.version = 0
        assert self.server.stdout is not None
        threading.Thread(target=self._listen, args=[self.server.stdout], daemon=True).start()
        self.send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1)
        self.send("initialized", {})
        opened = {"uri": _URI, "languageId": "json", "version": 0, "text": ""}
        self.send("textDocument/didOpen", {"textDocument": opened})

    def _listen(self, output: IO[bytes]) -> None:
        for line in output:
            if line.startswith(b"Content-Length:"):
                while output.readline().strip():
                    pass
                self.said.put(json.loads(output.read(int(line.split()[1]))))

    def send(self, method: str, params: object, **rest: int) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **rest}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self.server.stdin.flush()

    def change(self, text: str) -> None:
        self.version += 1
        document = {"uri": _URI, "version": self.version}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def findings(self) -> int:
        """Wait for the findings in the last state, and return their number."""
        while True:
            params = self.said.get().get("params") or {}
            if params.get("version") == self.version:
                return len(params["diagnostics"])

    def cpu(self) -> float:
        """Return the CPU seconds of the server so far."""
        used = Path(f"/proc/{self.server.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--kilobytes", type=int, default=60)
    options = parser.parse_args()
    editor, rows = Editor(), []
    states = texts(1000 * options.kilobytes)
    for name, text in states.items():
        editor.change(text)
        number, began, waited = editor.findings(), editor.cpu(), []
        for _ in range(options.rounds):
            start = time.perf_counter()
            editor.change(text)
            editor.findings()
            waited.append(1000 * (time.perf_counter() - start))
        cpu = 1000 * (editor.cpu() - began) / options.rounds
        shown = [min(waited), statistics.median(waited), max(waited), cpu]
        rows.append([f"{name}, {len(text) / 1000:.0f} kB", str(number), *(f"{each:.0f}" for each in shown)])
    heads = ["description", "findings", "least, ms", "median, ms", "most, ms", "CPU of the server, ms"]
    table(f"findings after a keystroke, {options.rounds} rounds", heads, rows)
    began, start = editor.cpu(), time.perf_counter()
    for each in range(_EDITS):
        time.sleep(max(0, start + each / 1000 - time.perf_counter()))
        editor.change(states["clean"])
    sent = time.perf_counter()
    editor.findings()
    waited = [sent - start, 1000 * (time.perf_counter() - sent), editor.cpu() - began]
    heads = ["seconds to send", "findings after the last, ms", "CPU of the server, s"]
    table(f"{_EDITS} states, one after the other", heads, [[f"{each:.1f}" for each in waited]])
    editor.send("shutdown", None, id=2)
    editor.send("exit", None)
    editor.server.wait(10)


if __name__ == "__main__":
    main()
