"""A release that an identity signs without a key, by an instance of sigstore on this machine, and what is accepted of it."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from model_signing import hashing, signing, verifying
from release.instance import IDENTITY, TOKEN_OF_THE_RUNNER, Instance, Json, running
from release.signed import MANIFEST, SIGNATURE, SIGNED, found
from support import run_cli, tree

import corpusfmt
from corpusfmt.model import Incomplete, UsageError


class Trusted(NamedTuple):
    """A running instance of sigstore, and its trust configuration."""

    instance: Instance
    config: Path

    @property
    def options(self) -> list[str]:
        return [f"--identity={IDENTITY}", f"--identity-provider={self.instance.url}", f"--trust-config={self.config}"]

    def verified(self, root: Path, *, quick: bool = True) -> corpusfmt.Report:
        url = self.instance.url
        return corpusfmt.verify(root, identity=IDENTITY, identity_provider=url, trust_config=self.config, quick=quick)

    def is_accepted(self, root: Path) -> bool:
        """Return whether model-signing verifies a release."""
        configured = verifying.Config().use_sigstore_verifier(
            identity=IDENTITY, oidc_issuer=self.instance.url, trust_config=self.config
        )
        try:
            configured.verify(root, root / SIGNATURE)
        except Exception:
            return False
        return True


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trusted]:
    """An instance in the environment of a workflow."""
    config = tmp_path_factory.mktemp("sigstore") / "trust.json"
    with running(config) as instance, pytest.MonkeyPatch.context() as environment:
        environment.setenv("GITHUB_ACTIONS", "true")
        environment.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", TOKEN_OF_THE_RUNNER)
        environment.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{instance.url}/workflow?api-version=2")
        yield Trusted(instance, config)


@pytest.fixture(scope="module")
def signed_once(built: Path, trusted: Trusted) -> Path:
    folder = built.parent / "keyless"
    shutil.copytree(built, folder)
    corpusfmt.seal(folder, attest=True, sign="sigstore", trust_config=trusted.config)
    return folder


@pytest.fixture
def keyless(signed_once: Path, tmp_path: Path) -> Path:
    """A release that an identity has signed, for a test to change."""
    shutil.copytree(signed_once, tmp_path / "keyless")
    return tmp_path / "keyless"


def test_an_identity_signs_and_is_verified(keyless: Path, trusted: Trusted) -> None:
    assert trusted.is_accepted(keyless)
    asked = len(trusted.instance.paths)
    done = run_cli("verify", keyless, *trusted.options)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(f"Signed by {IDENTITY}: {', '.join(SIGNED)}\n".encode())
    # Verification needs no network.
    assert len(trusted.instance.paths) == asked
    # Each signature is an entry of the log, so the proofs of later ones have more to prove.
    for number in range(3):
        (keyless / "README.md").write_text(f"# A card, {number}\n")
        done = run_cli("seal", keyless, "--attest", "--sign=sigstore", f"--trust-config={trusted.config}")
        assert (done.returncode, done.stderr) == (0, b"")
        assert (found(trusted.verified(keyless)), trusted.is_accepted(keyless)) == (set(), True)


def test_we_accept_an_identity_that_signs_with_model_signing(keyless: Path, trusted: Trusted) -> None:
    (keyless / SIGNATURE).unlink()
    configured = signing.Config().use_sigstore_signer(use_ambient_credentials=True, trust_config=trusted.config)
    configured.set_hashing_config(hashing.Config().set_ignored_paths(paths=[SIGNATURE]))
    configured.sign(keyless, keyless / SIGNATURE)
    report = trusted.verified(keyless)
    assert (found(report), report.results["signed"]) == (set(), SIGNED)


def test_nobody_else_has_signed_it(keyless: Path, trusted: Trusted, keys: tuple[Path, Path], tmp_path: Path) -> None:
    url = trusted.instance.url
    with running(tmp_path / "other.json"):
        pass
    for identity, provider, config, why in (
        ("someone@example.org", url, trusted.config, "SAN"),
        (IDENTITY, "https://example.org", trusted.config, "OIDCIssuer"),
        (IDENTITY, url, tmp_path / "other.json", "certificate chain"),
    ):
        report = corpusfmt.verify(
            keyless, identity=identity, identity_provider=provider, trust_config=config, quick=True
        )
        assert (found(report), report.results["signed"]) == ({("MAN503", SIGNATURE)}, [])
        assert why in report.findings[0].message
    assert "with a certificate, expected a key" in corpusfmt.verify(keyless, key=keys[1]).findings[0].message
    corpusfmt.seal(keyless, attest=True, sign=keys[0])
    report = trusted.verified(keyless)
    assert (found(report), report.results["signed"]) == ({("MAN503", SIGNATURE)}, [])
    assert f"signed with a key, expected a certificate of `{IDENTITY}`" in report.findings[0].message


def edit_card_and_seal(root: Path) -> None:
    kept = {name: (root / name).read_bytes() for name in SIGNED}
    (root / "README.md").write_text("# A forged card\n")
    corpusfmt.seal(root)
    for name, data in kept.items():
        (root / name).write_bytes(data)


def forge_a_statement(root: Path) -> None:
    value = json.loads((root / SIGNED[2]).read_bytes())
    value["predicate"]["verifiedLevels"] = ["SLSA_BUILD_LEVEL_3"]
    (root / SIGNED[2]).write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("change", "expected", "fetched"),
    [
        (
            edit_card_and_seal,
            {("MAN404", SIGNED[1]), ("MAN404", SIGNED[2]), ("MAN504", SIGNATURE)},
            [MANIFEST, "README.md"],
        ),
        (forge_a_statement, {("MAN504", SIGNATURE)}, [SIGNED[2]]),
        (lambda root: (root / SIGNED[1]).unlink(), {("MAN504", SIGNATURE)}, [SIGNED[1]]),
        (lambda root: (root / SIGNATURE).unlink(), {("MAN501", SIGNATURE)}, []),
    ],
    ids=["card", "forged statement", "statement missing", "signature missing"],
)
def test_what_was_changed_after_it_was_signed(
    change: Callable[[Path], None],
    expected: set[tuple[str, str]],
    fetched: list[str],
    keyless: Path,
    trusted: Trusted,
) -> None:
    change(keyless)
    report = trusted.verified(keyless, quick=False)
    assert (found(report), report.results["fetch"]) == (expected, fetched)
    assert SIGNATURE not in report.results["signed"]
    assert not trusted.is_accepted(keyless)


def flipped(text: str, place: int = -5) -> str:
    data = bytearray(base64.b64decode(text))
    data[place] ^= 1
    return base64.b64encode(data).decode()


def entry_of(bundle: Json) -> Json:
    entry: Json = bundle["verificationMaterial"]["tlogEntries"][0]
    return entry


def of_another_time(bundle: Json) -> None:
    entry_of(bundle)["integratedTime"] = str(int(entry_of(bundle)["integratedTime"]) + 3600)


def certified_otherwise(bundle: Json) -> None:
    certificate = bundle["verificationMaterial"]["certificate"]
    certificate["rawBytes"] = flipped(certificate["rawBytes"], 200)


def without_a_promise(bundle: Json) -> None:
    del entry_of(bundle)["inclusionPromise"]


def in_another_log(bundle: Json) -> None:
    proof = entry_of(bundle)["inclusionProof"]
    proof["rootHash"] = flipped(proof["rootHash"])


def without_the_log(bundle: Json) -> None:
    bundle["verificationMaterial"]["tlogEntries"] = []


def of_another_entry(bundle: Json) -> None:
    entry_of(bundle)["canonicalizedBody"] = flipped(entry_of(bundle)["canonicalizedBody"], 100)


def signed_otherwise(bundle: Json) -> None:
    signature = bundle["dsseEnvelope"]["signatures"][0]
    signature["sig"] = flipped(signature["sig"])


def saying_more(bundle: Json) -> None:
    envelope = bundle["dsseEnvelope"]
    envelope["payload"] = base64.b64encode(base64.b64decode(envelope["payload"]) + b"\n").decode()


def without_a_checkpoint(bundle: Json) -> None:
    checkpoint = entry_of(bundle)["inclusionProof"]["checkpoint"]
    checkpoint["envelope"] = checkpoint["envelope"].partition("\n\n")[0]


@pytest.mark.parametrize(
    "forge",
    [
        of_another_time,
        certified_otherwise,
        without_a_promise,
        in_another_log,
        without_the_log,
        of_another_entry,
        signed_otherwise,
        saying_more,
        without_a_checkpoint,
    ],
)
def test_a_forged_signature(forge: Callable[[Json], None], keyless: Path, trusted: Trusted) -> None:
    bundle = json.loads((keyless / SIGNATURE).read_bytes())
    forge(bundle)
    (keyless / SIGNATURE).write_text(json.dumps(bundle))
    report = trusted.verified(keyless)
    assert (found(report), report.results["signed"]) == ({("MAN503", SIGNATURE)}, [])
    assert "model-signing does not accept the signature: " in report.findings[0].message
    assert not trusted.is_accepted(keyless)


def test_a_runner_that_gets_no_token(built: Path, trusted: Trusted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
    before = tree(built)
    with pytest.raises(Incomplete, match=r"^signing failed: GitHub: missing or insufficient OIDC token permissions"):
        corpusfmt.seal(built, sign="sigstore", trust_config=trusted.config)
    assert tree(built) == before


def test_a_trust_configuration_of_another_kind(built: Path, trusted: Trusted, tmp_path: Path) -> None:
    whole = json.loads(trusted.config.read_bytes())
    odd = {
        "empty": (b"", "is not a client trust configuration of sigstore"),
        "junk": (b"\0\xff" * 99, "is not a client trust configuration of sigstore"),
        "root": (json.dumps(whole["trustedRoot"]).encode(), "is not a client trust configuration of sigstore"),
        "later": (json.dumps(whole | {"mediaType": "x"}).encode(), "is not a client trust configuration of sigstore"),
        "large": (bytes(2 << 20), "the most that can be read"),
    }
    for name, (data, said) in odd.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(UsageError, match=said):
            corpusfmt.seal(built, sign="sigstore", trust_config=path)
        with pytest.raises(UsageError, match=said):
            corpusfmt.verify(built, identity="a", identity_provider="b", trust_config=path)
    done = run_cli("seal", built, "--sign=sigstore", f"--trust-config={tmp_path / 'later'}")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    with pytest.raises(UsageError, match=r"cannot read the trust configuration .*: No such file"):
        corpusfmt.seal(built, sign="sigstore", trust_config=tmp_path / "none")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--identity=a"], "--identity and --identity-provider need each other"),
        (["--identity-provider=a"], "--identity and --identity-provider need each other"),
        (["--trust-config=a"], "--trust-config needs --identity and --identity-provider"),
        (["--identity=a", "--identity-provider=b", "--key=c"], "--key and --identity exclude each other"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], said: str, built: Path) -> None:
    done = run_cli("verify", built, *options)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert said.encode() in done.stderr


def test_a_key_needs_no_trust_configuration(built: Path, trusted: Trusted, keys: tuple[Path, Path]) -> None:
    for sign in (None, keys[0]):
        with pytest.raises(UsageError, match="`trust_config` needs `sign sigstore`"):
            corpusfmt.seal(built, sign=sign, trust_config=trusted.config)
