"""Who signed a release: model-signing agrees with us, and nothing is believed that the owner of the key did not sign."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fsspec.implementations.memory import MemoryFileSystem
from model_signing import hashing, signing, verifying
from release.signed import (
    MANIFEST,
    PROVENANCE,
    SIGNATURE,
    SIGNED,
    VERIFICATION,
    found,
    payload_of,
    pem,
    public_pem,
    write_keys,
)
from support import of_data, run_cli, tree

import corpusfmt
from corpusfmt.model import UsageError


def is_accepted(root: Path, key: Path) -> bool:
    """Return whether model-signing verifies a release."""
    try:
        verifying.Config().use_elliptic_key_verifier(public_key=key).verify(root, root / SIGNATURE)
    except Exception:
        return False
    return True


def test_model_signing_accepts_our_signature(signed_release: Path, keys: tuple[Path, Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "model_signing",
        "verify",
        "key",
        signed_release.name,
        f"--signature={signed_release.name}/{SIGNATURE}",
    ]
    done = subprocess.run(
        [*command, "--public_key", keys[1]], cwd=signed_release.parent, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"Verification succeeded\n"), done.stderr
    assert is_accepted(signed_release.rename(signed_release.with_name("renamed")), keys[1])


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP521R1()], ids=lambda curve: curve.name)
def test_each_curve_of_model_signing(curve: ec.EllipticCurve, signed_release: Path, tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "key", curve)
    corpusfmt.seal(signed_release, attest=True, sign=private)
    assert is_accepted(signed_release, public)
    report = corpusfmt.verify(signed_release, key=public)
    assert (found(report), report.results["signed"]) == (set(), SIGNED)


def test_model_signing_accepts_a_folder_with_hidden_files_and_other_signatures(
    signed_release: Path, keys: tuple[Path, Path]
) -> None:
    (signed_release / ".notes").mkdir()
    (signed_release / ".notes/a.txt").write_text("a")
    (signed_release / "an/.hidden").write_text("b")
    (signed_release / "SHA256SUMS.asc").write_text("c")
    corpusfmt.seal(signed_release, attest=True, sign=keys[0])
    assert is_accepted(signed_release, keys[1])
    assert found(corpusfmt.verify(signed_release, key=keys[1])) == set()
    (signed_release / "an/more.txt").write_text("d")
    assert not is_accepted(signed_release, keys[1])
    assert found(corpusfmt.verify(signed_release, key=keys[1])) == {("MAN203", "an/more.txt")}


@pytest.mark.parametrize(
    ("added", "is_covered"),
    [
        (".vscode/tasks.json", False),
        (".envrc", False),
        ("an/.b.jsonl", False),
        ("an/.git/config", False),
        ("an/.gitignore", False),
        (".gitmodules", False),
        ("SHA256SUMS.asc", False),
        (".notes/b.txt", True),
        (".git/hooks/post-checkout", True),
        (".github/workflows/x.yml", True),
        (".gitattributes", True),
        (".gitignore", True),
    ],
)
def test_a_file_added_after_signing_is_covered_where_model_signing_says_so(
    signed_release: Path, keys: tuple[Path, Path], added: str, is_covered: bool
) -> None:
    (signed_release / ".notes").mkdir()
    (signed_release / ".notes/a.txt").write_text("there when it was signed")
    corpusfmt.seal(signed_release, attest=True, sign=keys[0])
    (signed_release / added).parent.mkdir(parents=True, exist_ok=True)
    (signed_release / added).write_text("x")
    report = corpusfmt.verify(signed_release, key=keys[1])
    assert is_accepted(signed_release, keys[1]) == is_covered
    assert found(report) == (set() if is_covered else {("MAN505", SIGNATURE)})
    assert (SIGNATURE in report.results["signed"]) == is_covered
    if not is_covered:
        assert [each.message for each in report.findings] == [f"`{added}` is not signed"]


def sign_with_theirs(root: Path, key: Path, config: Any = None) -> None:
    (root / SIGNATURE).unlink(missing_ok=True)
    configured = signing.Config().use_elliptic_key_signer(private_key=key)
    configured.set_hashing_config(config or hashing.Config().set_ignored_paths(paths=[SIGNATURE]))
    configured.sign(root, root / SIGNATURE)


def test_we_accept_the_signature_of_model_signing(built: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    shutil.copytree(built, root)
    (root / ".notes").write_text("signed, too")
    (root / ".gitattributes").write_text("not signed")
    corpusfmt.seal(root, attest=True)
    sign_with_theirs(root, keys[0])
    report = corpusfmt.verify(root, key=keys[1])
    # Statements without an envelope are covered by the signature of the folder.
    assert (found(report), report.results["signed"]) == (set(), SIGNED)
    assert {each.code for each in of_data(corpusfmt.validate(root)) if each.severity != "info"} == {"OSC109"}
    (root / ".notes").write_text("signed, and changed")
    assert not is_accepted(root, keys[1])
    assert found(corpusfmt.verify(root, key=keys[1])) == {("MAN504", SIGNATURE)}


def test_a_signature_that_leaves_files_out_or_hashes_otherwise(signed_release: Path, keys: tuple[Path, Path]) -> None:
    sign_with_theirs(signed_release, keys[0], hashing.Config().set_ignored_paths(paths=[SIGNATURE, "an"]))
    assert is_accepted(signed_release, keys[1])
    assert found(corpusfmt.verify(signed_release, key=keys[1])) == {("MAN505", SIGNATURE)}
    for config in (
        hashing.Config().use_file_serialization(hashing_algorithm="blake3"),
        hashing.Config().use_shard_serialization(shard_size=1000),
    ):
        sign_with_theirs(signed_release, keys[0], config)
        report = corpusfmt.verify(signed_release, key=keys[1])
        assert found(report) == {("MAN402", SIGNATURE), ("MAN501", SIGNATURE)}
        assert report.results["signed"] == [PROVENANCE, VERIFICATION]


def edit_file(root: Path) -> None:
    path = next(root.glob("*/*.txt.gz"))
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def edit_and_seal(root: Path, name: str = "LICENSE") -> None:
    kept = {path: (root / path).read_bytes() for path in SIGNED}
    (root / name).write_text("Other words\n")
    corpusfmt.seal(root)
    for path, data in kept.items():
        (root / path).write_bytes(data)


def edit_card_and_seal(root: Path) -> None:
    edit_and_seal(root, "README.md")


def edit_seal_and_attest(root: Path) -> None:
    kept = (root / SIGNATURE).read_bytes()
    (root / "LICENSE").write_text("Another licence\n")
    corpusfmt.seal(root, attest=True)
    (root / SIGNATURE).write_bytes(kept)


def edit_statement(root: Path) -> None:
    value = json.loads((root / PROVENANCE).read_bytes())
    value["payload"] = base64.b64encode(
        base64.b64decode(value["payload"]).replace(b'"corpusfmt":', b'"other":')
    ).decode()
    (root / PROVENANCE).write_text(json.dumps(value))


def take_the_envelope_off(root: Path) -> None:
    (root / PROVENANCE).write_bytes(payload_of((root / PROVENANCE).read_bytes()))


def edit_signature(root: Path) -> None:
    value = json.loads((root / SIGNATURE).read_bytes())
    envelope = value["dsseEnvelope"]
    # Spaces change nothing of what is said.
    envelope["payload"] = base64.b64encode(base64.b64decode(envelope["payload"]) + b"\n").decode()
    (root / SIGNATURE).write_text(json.dumps(value))


def take_the_hint_off(root: Path) -> None:
    value = json.loads((root / SIGNATURE).read_bytes())
    del value["verificationMaterial"]["publicKey"]["hint"]
    value["dsseEnvelope"]["signatures"][0]["sig"] = base64.b64encode(b"0" * 70).decode()
    (root / SIGNATURE).write_text(json.dumps(value))


def sign_with_a_certificate(root: Path) -> None:
    value = json.loads((root / SIGNATURE).read_bytes())
    value["verificationMaterial"] = {"certificate": {"rawBytes": "AAAA"}, "tlogEntries": []}
    (root / SIGNATURE).write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("change", "expected", "valid"),
    [
        (edit_file, {("MAN204", "*")}, SIGNED),
        (
            edit_and_seal,
            {("MAN404", PROVENANCE), ("MAN404", VERIFICATION), ("MAN504", SIGNATURE), ("MAN505", SIGNATURE)},
            [],
        ),
        (edit_seal_and_attest, {("MAN504", SIGNATURE), ("MAN505", SIGNATURE)}, []),
        (lambda root: (root / SIGNATURE).unlink(), {("MAN501", SIGNATURE)}, SIGNED[1:]),
        (lambda root: (root / PROVENANCE).unlink(), {("MAN504", SIGNATURE)}, [VERIFICATION]),
        (edit_statement, {("MAN503", PROVENANCE), ("MAN504", SIGNATURE), ("MAN404", PROVENANCE)}, [VERIFICATION]),
        (take_the_envelope_off, {("MAN504", SIGNATURE)}, [VERIFICATION]),
        (edit_signature, {("MAN503", SIGNATURE)}, SIGNED[1:]),
        (take_the_hint_off, {("MAN503", SIGNATURE)}, SIGNED[1:]),
        (sign_with_a_certificate, {("MAN503", SIGNATURE)}, SIGNED[1:]),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_what_was_changed_is_rejected(
    change: Callable[[Path], Any],
    expected: set[tuple[str, str]],
    valid: list[str],
    signed_release: Path,
    keys: tuple[Path, Path],
) -> None:
    assert found(corpusfmt.verify(signed_release, key=keys[1])) == set()
    change(signed_release)
    report = corpusfmt.verify(signed_release, key=keys[1])
    assert {(code, path if path.endswith(("json", "sig")) else "*") for code, path in found(report)} == expected
    assert (report.verdict.value, report.results["signed"]) == ("invalid", valid)
    assert not is_accepted(signed_release, keys[1])


@pytest.mark.parametrize(
    ("change", "fetched"),
    [
        (edit_card_and_seal, [MANIFEST, "README.md"]),
        (lambda root: (root / PROVENANCE).unlink(), [PROVENANCE]),
        (edit_statement, [PROVENANCE]),
        (edit_signature, []),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_what_differs_from_what_was_signed_is_downloaded_again(
    change: Callable[[Path], Any], fetched: list[str], signed_release: Path, keys: tuple[Path, Path]
) -> None:
    before = tree(signed_release)
    change(signed_release)
    assert corpusfmt.verify(signed_release, key=keys[1]).results["fetch"] == fetched
    # Without a key, nothing says which of them is right.
    assert corpusfmt.verify(signed_release).results["fetch"] == []
    for path in fetched:
        (signed_release / path).write_bytes(before[path])
    report = corpusfmt.verify(signed_release, key=keys[1])
    assert (found(report) == set()) is (change is not edit_signature)


def test_a_key_of_others_and_a_signature_of_another_release(
    signed_release: Path, other_keys: tuple[Path, Path], keys: tuple[Path, Path], tmp_path: Path
) -> None:
    report = corpusfmt.verify(signed_release, key=other_keys[1])
    assert (found(report), report.results["signed"]) == ({("MAN503", name) for name in SIGNED}, [])
    other = tmp_path / "other/documents/a.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text('{"id":"1","text":"t","source":"s","added":"2024-01-01"}\n')
    corpusfmt.seal(tmp_path / "other", attest=True, sign=keys[0])
    for name in SIGNED:
        shutil.copyfile(tmp_path / "other" / name, signed_release / name)
    for report in (corpusfmt.verify(signed_release, key=keys[1]), corpusfmt.validate(signed_release)):
        about_data = {each.code for each in of_data(report) if each.severity != "info"}
        assert about_data == {"MAN404", "MAN504", "MAN505"}
        assert report.results.get("signed", []) == []


def test_the_command_names_what_is_signed(signed_release: Path, keys: tuple[Path, Path]) -> None:
    done = run_cli("verify", signed_release, "--key", keys[1])
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(f"Signed with {keys[1]}: {', '.join(SIGNED)}\n".encode())
    (signed_release / SIGNATURE).unlink()
    done = run_cli("verify", signed_release, "--key", keys[1], "--quick", "--output-format", "concise")
    assert (done.returncode, b"MAN501" in done.stdout) == (1, True)
    assert found(corpusfmt.verify(signed_release)) == set()


def test_a_look_at_names_and_sizes_alone_reads_what_is_signed(signed_release: Path, keys: tuple[Path, Path]) -> None:
    report = corpusfmt.verify(signed_release, key=keys[1], quick=True)
    assert (found(report), report.results["signed"]) == (set(), SIGNED)
    edit_seal_and_attest(signed_release)
    assert ("MAN504", SIGNATURE) in found(corpusfmt.verify(signed_release, key=keys[1], quick=True))


def test_a_signed_release_in_a_store(signed_release: Path, keys: tuple[Path, Path]) -> None:
    store = MemoryFileSystem()
    store.put(str(signed_release), "/signed-release", recursive=True)
    try:
        report = corpusfmt.verify("memory://signed-release", key=keys[1])
        assert (found(report), report.results["signed"]) == (set(), SIGNED)
        store.pipe(f"/signed-release/{VERIFICATION}", b"{}")
        report = corpusfmt.verify("memory://signed-release", key=keys[1])
        assert found(report) == {("MAN401", VERIFICATION), ("MAN504", SIGNATURE)}
    finally:
        store.rm("/signed-release", recursive=True)


def test_what_was_about_another_manifest_does_not_stay(signed_release: Path, keys: tuple[Path, Path]) -> None:
    before = tree(signed_release)
    assert corpusfmt.seal(signed_release).results["removed"] == []
    assert tree(signed_release) == before
    (signed_release / "README.md").write_text("# A card\n")
    done = run_cli("seal", signed_release)
    assert (done.returncode, done.stderr) == (0, b"")
    said = [line.split(b",")[0] for line in done.stdout.split(b"\n") if line.startswith(b"  removed")]
    assert said == [f"  removed {name}".encode() for name in (PROVENANCE, VERIFICATION, SIGNATURE)]
    assert tree(signed_release).keys() == before.keys() - {*SIGNED} | {"README.md"}
    corpusfmt.seal(signed_release, attest=True, sign=keys[0])
    assert found(corpusfmt.verify(signed_release, key=keys[1])) == set()
    (signed_release / PROVENANCE).unlink()
    (signed_release / "README.md").write_text("# Another card\n")
    assert corpusfmt.seal(signed_release, sign=keys[0]).results["removed"] == [VERIFICATION]
    report = corpusfmt.verify(signed_release, key=keys[1])
    assert (found(report), report.results["signed"]) == (set(), [SIGNATURE])


def test_a_signature_of_before_the_first_manifest_stays(built: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    shutil.copytree(built, root)
    (root / MANIFEST).unlink()
    sign_with_theirs(root, keys[0])
    report = corpusfmt.seal(root)
    about_data = [(each.code, each.location.path) for each in of_data(report) if each.severity != "info"]
    assert (about_data, report.results["removed"]) == ([("MAN505", SIGNATURE)], [])
    done = run_cli("seal", root)
    assert b"`MANIFEST.json` is not signed" in done.stderr


def test_what_is_not_true_is_not_signed(signed_release: Path, keys: tuple[Path, Path]) -> None:
    (signed_release / VERIFICATION).write_text("{}")
    before = tree(signed_release)
    with pytest.raises(UsageError, match=r"MANIFEST.verification.json: .*: add `attest`, or remove the statement"):
        corpusfmt.seal(signed_release, sign=keys[0])
    assert tree(signed_release) == before


def test_a_file_named_for_its_digest_is_a_file(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    root = tmp_path / "corpus"
    (root / "documents").mkdir(parents=True)
    (root / "documents/a.jsonl").write_text('{"id":"1","text":"t","source":"s","added":"2024-01-01"}\n')
    name = hashlib.sha256(b"x").hexdigest()
    for path in (root / name, root / "README.md"):
        path.write_bytes(b"x")
    corpusfmt.seal(root, sign=keys[0])
    kept = (root / SIGNATURE).read_bytes()
    assert found(corpusfmt.verify(root, key=keys[1])) == set()
    (root / name).write_bytes(b"y")
    corpusfmt.seal(root)
    (root / SIGNATURE).write_bytes(kept)
    said = [each.message for each in corpusfmt.verify(root, key=keys[1]).findings]
    assert any(f"SHA-256 of `{name}`" in each for each in said)


# Keys --------------------------------------------------------------------------------------------------------------


def test_keys_of_other_kinds_are_refused(built: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    odd = [
        *(rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()),
        ec.generate_private_key(ec.SECP256K1()),
    ]
    private = {f"odd-{number}": (pem(each), "expected one on the curve P-256") for number, each in enumerate(odd)}
    public = {f"odd-{number}": (public_pem(each), "expected one on the curve P-256") for number, each in enumerate(odd)}
    private |= {"public": (public_pem(key), "no private key in PEM"), "locked": (pem(key, b"secret"), "is encrypted")}
    public |= {"private": (pem(key), "no public key in PEM"), "junk": (b"\0\xff" * 99, "no public key in PEM")}
    public |= {"large": (bytes(2 << 20), "the most that can be read")}
    for name, (data, said) in private.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match=said):
            corpusfmt.seal(built, sign=tmp_path / name)
    for name, (data, said) in public.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match=said):
            corpusfmt.verify(built, key=tmp_path / name)
    with pytest.raises(UsageError, match=r"cannot read the key .*: No such file"):
        corpusfmt.verify(built, key=tmp_path / "none")
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError, match="expected a file with a private key in PEM: make one with"):
            corpusfmt.seal(built, sign=path)
    assert not (built / SIGNATURE).exists()


def test_what_to_do_without_the_package(built: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("model_signing", "model_signing.signing", "model_signing.verifying"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"run `pip install 'corpusfmt\[sign\]'`"):
        corpusfmt.seal(built, sign=keys[0])
    with pytest.raises(UsageError, match=r"run `pip install 'corpusfmt\[sign\]'`"):
        corpusfmt.verify(built, key=keys[1])


# Bad input ---------------------------------------------------------------------------------------------------------


def with_payload(data: bytes, change: Callable[[Any], Any]) -> bytes:
    """Return a statement or signature with another payload."""
    value = json.loads(data)
    envelope = value.get("dsseEnvelope", value)
    payload = change(json.loads(base64.b64decode(envelope["payload"])))
    envelope["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    return json.dumps(value).encode()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return a statement or signature with a value that is of another type, missing, or cut short."""

    def change(value: Any) -> Any:
        if not value or not isinstance(value, dict | list) or chance.random() < 0.2:
            return chance.choice([None, 1, -1e300, "x", "", [], {}, [[]], {"": None}, True, "../x", "\0", "0" * 64])
        names: Any = list(value) if isinstance(value, dict) else range(len(value))
        name = chance.choice(names)
        if chance.random() < 0.2:
            del value[name]
        else:
            value[name] = change(value[name])
        return value

    kind = chance.randrange(4)
    if kind == 0:
        return with_payload(data, change)
    if kind == 1:
        return json.dumps(change(json.loads(data))).encode()
    place = chance.randrange(len(data))
    return data[:place] if kind == 2 else data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


@pytest.mark.parametrize("name", SIGNED)
def test_no_damage_ends_a_run_or_is_believed(name: str, signed_release: Path, keys: tuple[Path, Path]) -> None:
    chance = random.Random(f"22-{name}")
    whole = (signed_release / name).read_bytes()
    for _ in range(40):
        changed = damaged(whole, chance)
        (signed_release / name).write_bytes(changed)
        report = corpusfmt.verify(signed_release, key=keys[1], quick=True)
        assert "GEN000" not in report.by_rule, changed
        if name in report.results["signed"]:
            # Hints and media types are not signed.
            assert payload_of(changed) == payload_of(whole)
            assert name == SIGNATURE or ("MAN504", SIGNATURE) in found(report)


@pytest.mark.parametrize("count", [20_000, 1_000_000])
def test_a_statement_of_many_subjects_takes_little(count: int, signed_release: Path, keys: tuple[Path, Path]) -> None:
    digest = "0" * 64
    subject = ",".join(f'{{"name":"{number}","digest":{{"sha256":"{digest}"}}}}' for number in range(count // 10))
    text = json.dumps({"_type": "https://in-toto.io/Statement/v1", "subject": [{}], "predicateType": "x"})
    many = text.replace("{}", subject if count < 100_000 else ",".join(["{}"] * count)).encode()
    provenance = with_payload((signed_release / PROVENANCE).read_bytes(), lambda value: value | {"subject": []})
    kept = json.loads(payload_of(provenance))
    (signed_release / PROVENANCE).write_bytes(
        many.replace(
            b'"x"', b'"https://slsa.dev/provenance/v1", "predicate": ' + json.dumps(kept["predicate"]).encode()
        )
    )
    report = corpusfmt.verify(signed_release, key=keys[1], quick=True)
    expected = "MAN401" if count > 100_000 else "MAN404"
    assert found(report) == {(expected, PROVENANCE), ("MAN504", SIGNATURE)}
    assert len(report.findings) <= 20


def test_a_statement_that_is_a_link_out_of_the_release(
    signed_release: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in SIGNED:
        (signed_release / name).rename(tmp_path / name)
        (signed_release / name).symlink_to(tmp_path / name)
    report = corpusfmt.verify(signed_release, key=keys[1])
    assert found(report) == {("MAN501", SIGNATURE), *(("GEN002", name) for name in SIGNED)}
    assert report.results["signed"] == []
