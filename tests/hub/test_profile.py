"""The profile `hub` on cards and folders that no published one should be like, without `datasets`."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub.folders import TWO, A, card, default, features, folders, plain, rows, write

import corpusfmt
from corpusfmt.hub import check
from corpusfmt.hub.kinds import builder_of, matched, splits_of
from corpusfmt.model import UsageError


def found(root: Path, **arguments: int) -> list[tuple[str, str]]:
    report = corpusfmt.validate(root, profile="hub", **arguments)  # type: ignore[arg-type]  # only numbers of workers
    return [(each.code, each.message) for each in report.findings if each.code.startswith(("HUB", "GEN"))]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"configs: [", "the head of the card is not YAML at line 3"),
        (b"configs: " + b"[" * 100_000, "the head of the card is nested too deeply"),
        (b"configs: " + b"- " * 100_000, "the head of the card is nested too deeply"),
        (b"configs:\n" + b"".join(b" " * depth + b"a:\n" for depth in range(1, 200)), "nested too deeply"),
        (b"configs: 1", "`configs` is not a list"),
        (b"dataset_info:\n  config_name: b", "`dataset_info` is about the config `b`, expected `default`"),
        (b"configs:\n- 1", "`config_name` is `null`"),
        (b"configs:\n- config_name: 2", "`config_name` is `2`, expected a string"),
        (b"configs:\n- config_name: 1", "`config_name` is `1`, expected a string"),
        (b"configs:\n- config_name: true", "`config_name` is `true`, expected a string"),
        (b"configs:\n- config_name: [1]", "`config_name` is `[…]`, expected a string"),
        (b"configs:\n- config_name: {a: 1}", "`config_name` is `{…}`, expected a string"),
        (b"configs:\n- config_name: a\n  data_files:\n  - {split: [a], path: x}", "`split` is `[…]`"),
        (b"configs:\n- config_name: a\n- config_name: a", "two configs are called `a`"),
        (b"configs:\n- config_name: a\n  config_name: b", "the head of the card has a key twice"),
        (b"configs:\n- config_name: a\n  data_files: {split: a}", "`data_files` is neither a path"),
        (b"configs:\n- config_name: a\n  data_files:\n  - split: '-'\n    path: x", "`split` is `-`"),
        (
            b"configs:\n- config_name: a\n  data_files:\n  - {split: a, path: x}\n  - {split: a, path: y}",
            "occurs twice",
        ),
        (b"a: " + b"1" * 5000, "the head of the card is not YAML"),
        (b"a: \xff", "the card is not UTF-8 at byte 7"),
    ],
)
def test_a_head_that_cannot_be_used_is_a_finding(head: bytes, message: str, tmp_path: Path) -> None:
    codes = found(write(TWO | {"README.md": b"---\n" + head + b"\n---\n"}, tmp_path))
    assert ("HUB301", True) in {(code, message in text) for code, text in codes}, codes


def test_what_a_card_without_configs_declares_applies(tmp_path: Path) -> None:
    head = card(*features(id="string", text="string", source="string", x="int64"))
    assert found(write({A: rows([1], "a"), "README.md": head}, tmp_path / "good")) == []
    codes = found(write({A: rows(["x"], "a"), "README.md": head}, tmp_path / "text"))
    assert [code for code, _ in codes] == ["HUB202"]
    sized = card("dataset_info:", "  splits:", "  - name: train", "    num_examples: 2")
    codes = found(write({A: rows([1], "a"), "README.md": sized}, tmp_path / "sized"))
    assert codes == [("HUB303", "`num_examples` of the split `train` of `default` is 2, expected 1")]


def test_odd_types_and_deep_rows_are_no_crash(tmp_path: Path) -> None:
    odd = [
        "dataset_info:",
        "  features: [1, {name: [1]}, {name: id, dtype: {class_label: {names: [a]}}}]",
        "  splits: 3",
    ]
    codes = found(write(TWO | {"README.md": card(*default("documents/*"), *odd)}, tmp_path))
    assert [code for code, _ in codes] == ["HUB301"]
    deep = b'{"id": "c", "text": "x", "source": "web", "x": ' + b"[" * 500 + b"]" * 500 + b"}\n"
    assert {code for code, _ in found(write({"documents/c.jsonl": deep}, tmp_path / "deep"))} == {"GEN301", "HUB202"}


def test_aliases_are_not_followed_and_the_run_says_so(tmp_path: Path) -> None:
    bomb = "\n".join(f"a{depth}: &a{depth} [*a{depth - 1}, *a{depth - 1}]" for depth in range(1, 60))
    root = write(TWO | {"README.md": f"---\na0: &a0 [x]\n{bomb}\n---\n".encode()}, tmp_path)
    assert corpusfmt.validate(root, profile="hub").verdict is corpusfmt.Verdict.INCOMPLETE


def test_a_pattern_takes_no_longer_than_its_length(tmp_path: Path) -> None:
    name = "a" * 200
    assert matched("**/" * 30 + "*a" * 60 + "b", [f"documents/{name}"] * 100) == []
    assert matched("documents/**", ["documents/a/b.jsonl", "a.jsonl", "documents/.b", "documents/__c/d"]) == [
        "documents/a/b.jsonl"
    ]
    assert matched("**/[ab].jsonl", ["a.jsonl", "x/b.jsonl", "x/y/c.jsonl"]) == ["a.jsonl", "x/b.jsonl"]
    assert matched("./a?.jsonl", ["ab.jsonl", "a.jsonl"]) == ["ab.jsonl"]


def test_splits_and_kinds_follow_names() -> None:
    assert splits_of(["data/train-00000-of-00001.parquet", "data/x-00000-of-00001.parquet"]).keys() == {"train", "x"}
    assert splits_of(["a.jsonl", "b.eval"]) == {"logs": ["b.eval"]}
    assert splits_of(["a.jsonl", "x/task.toml"]) == {"test": ["x/task.toml"]}
    assert splits_of(["dev.jsonl", "my-test.jsonl", "other.jsonl"]) == {
        "validation": ["dev.jsonl"],
        "test": ["my-test.jsonl"],
    }
    assert splits_of([".a.jsonl", "README.md"]) == {}
    assert splits_of(["dev.jsonl", "valid.jsonl", "my-valid.jsonl"]) == {
        "validation": ["valid.jsonl", "my-valid.jsonl", "dev.jsonl"]
    }
    assert splits_of(["train/a", "train-1/b", "x-train/c", "x-train-train/d", "y"]) == {
        "train": ["train/a", "train-1/b", "x-train-train/d", "x-train/c", "x-train-train/d"]
    }
    assert builder_of(["a.json.gz", "b.parquet"]) == "parquet"
    assert builder_of(["a.bin", "b"]) == ""


def test_any_number_of_workers_gives_the_same_report(tmp_path: Path) -> None:
    root = write(folders()["int and text"] | {"documents/c.jsonl": gzip.compress(b"")}, tmp_path)
    assert found(root) == found(root, jobs=2)
    assert found(root)[0] == (
        "HUB202",
        "`x` has `string`, expected `int64` as in `documents/a.jsonl`: `load_dataset` fails: Failed to parse string: 'x' as a scalar of type int64",
    )
    assert found(root / "documents" / "b.jsonl") == []


def test_names_that_cannot_be_loaded_are_reported_and_not_written(tmp_path: Path) -> None:
    names = ["a::b", "a[1]", "c\\d"]
    root = write({f"documents/{name}.jsonl.gz": gzip.compress(plain(name)) for name in names}, tmp_path / "data")
    assert [code for code, _ in found(root)] == ["HUB105"] * 3
    corpusfmt.convert(root, tmp_path / "out", to="dolma")
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.gz")) == [
        "a_1_.jsonl.gz", "a_b.jsonl.gz", "c_d.jsonl.gz",
    ]  # fmt: skip
    write({"documents/a_b.jsonl.gz": gzip.compress(plain("x"))}, root)
    with pytest.raises(UsageError, match="a_b"):
        corpusfmt.convert(root, tmp_path / "again", to="dolma")


def test_the_profile_is_asked_for(tmp_path: Path) -> None:
    root = write(folders()["int and text"], tmp_path / "data")
    assert corpusfmt.validate(root).by_rule.keys() & {"HUB202"} == set()
    own = tmp_path / "own.toml"
    own.write_text("loading = true\n[[grade]]\nrules = ['HUB202']\nseverity = 'warning'\nsource = 'ours'\n")
    (finding,) = corpusfmt.validate(root, profile=str(own), select=["HUB"]).findings
    assert (finding.code, finding.severity) == ("HUB202", corpusfmt.Severity.WARNING)


def test_a_card_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(TWO | {"README.md": card(*default("documents/*"))}, tmp_path)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r"corpusfmt\[hf\]"):
        corpusfmt.validate(root, profile="hub")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b'[\n{"id": "a", "text": "x"}\n]', "`a.json` is one array: write one object per line"),
        ("a.json.gz", gzip.compress(b'[{"id": "a", "text": "x"}]'), "`a.json.gz` is one array"),
    ],
    ids=["array", "compressed array"],
)
def test_what_only_loaders_read_is_named(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        corpusfmt.validate(write({name: data}, tmp_path / "alone"), profile="hub")
    report = corpusfmt.validate(
        write({name: data, "z.jsonl": b'{"text": "x"}\n'}, tmp_path / "next"), profile="hub", format="jsonl"
    )
    assert [each.location.path for each in report.findings if each.code in {"JSL104", "JSL201"}] == [name]


def table(path: Path, *columns: tuple[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays([each for _, each in columns], [name for name, _ in columns]), path)
    return path


def test_values_of_another_type_in_tables_are_cast_as_a_loader_does(tmp_path: Path) -> None:
    text = ("text", pa.array(["x", "y"]))
    table(tmp_path / "a.parquet", text, ("x", pa.array([1, 2], pa.int8())), ("tag", pa.array(["a", "b"])))
    table(tmp_path / "b.parquet", text, ("x", pa.array([None, 127])), ("tag", pa.array(["a", "b"]).dictionary_encode()))
    assert found(tmp_path) == []
    table(tmp_path / "c.parquet", text, ("x", pa.array([1, 128])))
    table(tmp_path / "d.parquet", text, ("tag", pa.array([1, None])))
    assert found(tmp_path) == [
        (
            "HUB202",
            "`x` has `int64`, expected `int8` as in `a.parquet`: `load_dataset` fails: Integer value 128 not in range: -128 to 127",
        ),
        ("HUB202", '`tag` is `1`, loaded as `"1"`: values are changed silently'),
    ]


def test_times_in_years_that_python_does_not_have_fail(tmp_path: Path) -> None:
    text, last = ("text", pa.array(["x", "y"])), 253_402_300_799
    for name, time in (("a", last), ("b", last + 1)):
        table(tmp_path / f"{name}.parquet", text, ("x", pa.array([None, time], pa.timestamp("s"))))
    (of_file,) = corpusfmt.validate(tmp_path, profile="hub").findings
    (of_table,) = corpusfmt.validate(tmp_path / "b.parquet", profile="hub").findings
    years = "`x` has times outside of the years 1 to 9999"
    assert of_file.message == of_table.message == f"{years}: `load_dataset` fails"
    assert {(each.code, each.hint) for each in (of_file, of_table)} == {("HUB202", "write `x` as text")}


def test_types_inside_lists_and_objects_are_cast_too(tmp_path: Path) -> None:
    text = ("text", pa.array(["x", "y"]))
    short = pa.list_(pa.struct([("n", pa.int8())]))
    table(tmp_path / "a.parquet", text, ("x", pa.array([[{"n": 1}], []], short)))
    table(tmp_path / "b.parquet", text, ("x", pa.array([[{"n": 1}], [{"n": 2}, {"n": 300}]])))
    table(tmp_path / "c.parquet", text, ("x", pa.array([[{"n": 1}], None])))
    assert found(tmp_path) == [
        (
            "HUB202",
            "`x[].n` has `int64`, expected `int8` as in `a.parquet`: `load_dataset` fails: Integer value 300 not in range: -128 to 127",
        )
    ]


def test_values_of_narrow_declared_types_are_compared(tmp_path: Path) -> None:
    types = ["dataset_info:", "- config_name: default", "  features:"]
    for name, kind in (("id", "string"), ("text", "string"), ("source", "string"), ("n", "int16"), ("f", "float32")):
        types += [f"  - name: {name}", f"    dtype: {kind}"]
    rows = [{"id": str(number), "text": "x", "source": "web", "n": number, "f": 0.5} for number in range(3)]
    good, bad = (
        b"".join(json.dumps(row | more).encode() + b"\n" for row in rows) for more in ({}, {"n": 1 << 15, "f": 0.1})
    )
    head = {"README.md": card(*default("documents/*"), *types)}
    assert found(write(head | {"documents/a.jsonl": good}, tmp_path)) == []
    assert found(write({"documents/b.jsonl.gz": gzip.compress(bad)}, tmp_path)) == [
        (
            "HUB202",
            "`n` has `int64`, expected `int16` as in the card: `load_dataset` fails: Integer value 32768 not in range: -32768 to 32767",
        )
    ]


def test_two_columns_of_one_name_and_a_broken_table_are_no_crash(tmp_path: Path) -> None:
    number = ("x", pa.array([1]))
    table(tmp_path / "a.parquet", ("text", pa.array(["x"])), number)
    table(tmp_path / "b.parquet", ("text", pa.array(["x"])), ("x", pa.array(["a"])), ("x", pa.array(["b"])))
    broken = table(tmp_path / "c.parquet", ("text", pa.array(["x"])), ("x", pa.array(["a"])))
    broken.write_bytes(broken.read_bytes()[:-4])
    assert corpusfmt.validate(tmp_path, profile="hub").verdict.value == "invalid"


def test_what_is_written_is_valid(tmp_path: Path) -> None:
    row = {"id": "a", "text": "x", "created": "2018-11-12T18:01:06Z", "metadata": {"a": None, "n": 2**53 + 1}}
    other = {"id": "b", "text": "y", "created": "unknown", "metadata": {"b": {}, "n": 0.5}}
    source = {"s/a.jsonl": json.dumps(row).encode() + b"\n", "s/b.jsonl": json.dumps(other).encode() + b"\n"}
    write(source, tmp_path)
    for target in ("dolma", "jsonl", "parquet"):
        corpusfmt.convert(tmp_path / "s", tmp_path / target, to=target, source_name="web", on_loss="allow")
        assert found(tmp_path / target) == []


def hints(root: Path) -> list[str]:
    return [each.hint for each in corpusfmt.validate(root, profile="hub").findings if each.code == "HUB202"]


@pytest.mark.parametrize(
    ("first", "second", "hint"),
    [
        (pa.array([None]), pa.array(["a"]), "write `string` in `a.parquet` (all its values are null)"),
        (
            pa.array([[]], pa.list_(pa.null())),
            pa.array([["a"]]),
            "write `string` in `a.parquet` (all its lists are empty)",
        ),
        (
            pa.array([{"k": None}]),
            pa.array([{"k": {"n": 1}}]),
            "write `struct<n>` in `a.parquet` (all its values are null)",
        ),
        (
            pa.array([{"k": 1}]),
            pa.array([{"k": 1, "new": 2}]),
            "add the key `new` to `x` in `a.parquet`, null where it has no value",
        ),
    ],
)
def test_the_repair_of_a_table_keeps_all_values(first: Any, second: Any, hint: str, tmp_path: Path) -> None:
    text = ("text", pa.array(["a"]))
    table(tmp_path / "a.parquet", text, ("x", first))
    table(tmp_path / "b.parquet", text, ("x", second))
    assert hints(tmp_path) == [hint]


@pytest.mark.parametrize(
    ("first", "second", "hint"),
    [
        (None, "a", "declare `x` as `string` in `dataset_info` of the card (in `a.jsonl` all its values are null)"),
        (
            [],
            [1.5],
            "declare `x[]` as `float64` in `dataset_info` of the card (in `a.jsonl` all its lists are empty)",
        ),
        (
            {"k": None},
            {"k": "a"},
            "declare `x.k` as `string` in `dataset_info` of the card (in `a.jsonl` all its values are null)",
        ),
        ({"k": 1}, {"k": 1, "new": 2}, "declare `x` as `json` in `dataset_info` of the card"),
    ],
)
def test_the_repair_of_json_lines_keeps_all_values(first: Any, second: Any, hint: str, tmp_path: Path) -> None:
    for name, value in (("a", first), ("b", second)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": "a", "x": value}) + "\n")
    assert hints(tmp_path) == [hint]


@pytest.mark.parametrize(
    ("text", "place"),
    [("one\n\rtwo", 2), ("one\r\r\ntwo", 1), ("one\r\r\rtwo", 1), ("zero\none\r\rtwo", 2)],
)
def test_a_text_that_loaders_split_is_announced_and_reported(text: str, place: int, tmp_path: Path) -> None:
    rows = [
        {"id": str(number), "text": each, "source": "s", "metadata": {"language": "en"}}
        for number, each in enumerate((text, "x"))
    ]
    (tmp_path / "in/documents").mkdir(parents=True)
    (tmp_path / "in/documents/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for version in ("1.1", "1.0"):
        out = tmp_path / version
        corpusfmt.convert(tmp_path / "in", out, to=f"oscar-{version}", on_loss="allow")
        card = (out / "README.md").read_text()
        assert '"metadata"' not in card
        assert "becomes several rows" in card
        (finding,) = [each for each in corpusfmt.validate(out, profile="hub").findings if each.code == "HUB206"]
        assert (finding.location.path, finding.location.line) == ("en/en.txt.gz", place)


def test_a_text_that_loaders_split_is_announced_in_plain_text_too(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "one\n\rtwo"}) + "\n")
    corpusfmt.convert(tmp_path / "in.jsonl", tmp_path / "out", to="text", on_loss="allow")
    assert "becomes several rows" in (tmp_path / "out/README.md").read_text()


def test_texts_with_single_carriage_returns_pair_with_their_metadata(tmp_path: Path) -> None:
    row = {"id": "1", "text": "one\rtwo\r\nthree\r", "source": "s", "metadata": {"language": "en"}}
    (tmp_path / "in/documents").mkdir(parents=True)
    (tmp_path / "in/documents/a.jsonl").write_text(json.dumps(row) + "\n")
    corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="oscar-1.1", on_loss="allow")
    card = (tmp_path / "out/README.md").read_text()
    assert '"metadata"' in card
    assert "several rows" not in card
    assert "HUB206" not in corpusfmt.validate(tmp_path / "out", profile="hub").by_rule


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"a.csv": b"q,label\na,1\n", "b.csv": b"q,label\nb,2\n"}, []),
        ({"a.tsv.gz": gzip.compress(b"q\tlabel\na\t1\n")}, []),
        ({"a.csv": b"q,label\na,1\n", "b.csv": b"q,label\nb,x\n"}, ["HUB202"]),
        ({"a.csv": b"q,label\na,1\n", "b.csv": b"q,label,c\nb,1,2\n"}, ["HUB201"]),
        ({"a.csv": b"q,label\na,1\nb,2,3\n"}, ["HUB202"]),
    ],
)
def test_csv_is_loaded_by_pandas(files: dict[str, bytes], codes: list[str], tmp_path: Path) -> None:
    report = corpusfmt.validate(write(files, tmp_path), profile="hub")
    assert [code for code in report.by_rule if code.startswith("HUB")] == codes
    assert (report.verdict.value == "valid") == (not codes)


def test_what_the_hub_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {A: plain("a")}
    shards = {f"documents/b/{number}.bin": b"" for number in range(9_999)}
    assert not found(write(data | shards | {"documents/b/x/y.bin": b""}, tmp_path / "full"))
    more = {"documents/b/x/y.bin": b"", "documents/b/z.bin": b"", "documents/.git/objects/1": b""}
    assert found(write(data | shards | more, tmp_path / "fuller")) == [
        ("HUB401", "10,001 entries, expected at most 10,000")
    ]
    sizes = {"a.bin": 200, "b.bin": 201, "c.bin": 500, "d.bin": 501, ".cache/huggingface/e.bin": 501}
    root = write(data | dict.fromkeys(sizes, b""), tmp_path / "large")
    for name, size in sizes.items():
        os.truncate(root / name, size * 10**9)
    monkeypatch.setattr(check, "_ADVISED_FILES", 4)
    report = corpusfmt.validate(root, profile="hub")
    assert [(each.severity, each.location.path, each.message) for each in report.findings] == [
        ("warning", ".", "5 files, expected at most 4"),
        ("warning", "b.bin", "201 GB, expected at most 200"),
        ("warning", "c.bin", "500 GB, expected at most 200"),
        ("error", "d.bin", "501 GB, expected at most 500"),
    ]
