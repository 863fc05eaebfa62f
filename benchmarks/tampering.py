"""What each means notices of the same kinds of tampering: `sha256sum -c`, BagIt, model-signing, and `corpusfmt verify`.

python benchmarks/tampering.py prints the table of docs/manifest.md; it needs `bagit`, `model_signing` and `pyOpenSSL`.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from release.tampering import FORMATS, KINDS, data_of, make

import corpusfmt

Check = Callable[[Path], bool]


def key_in(folder: Path) -> tuple[Path, Path]:
    """Write a private and a public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    kinds: Any = serialization
    secret = private.private_bytes(kinds.Encoding.PEM, kinds.PrivateFormat.PKCS8, kinds.NoEncryption())
    public = private.public_key().public_bytes(kinds.Encoding.PEM, kinds.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.priv").write_bytes(secret)
    (folder / "key.pub").write_bytes(public)
    return folder / "key.priv", folder / "key.pub"


def with_sha256sum(release: Path, work: Path) -> Check:
    files = sorted(path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file())
    listed = subprocess.run(["sha256sum", *files], cwd=release, check=True, capture_output=True).stdout
    (work / "SHA256SUMS").write_bytes(listed)
    command = ["sha256sum", "--check", "--status", str(work / "SHA256SUMS")]
    return lambda root: subprocess.run(command, cwd=root, check=False).returncode == 0


def with_bagit(release: Path, work: Path) -> Check:
    import bagit

    bag = work / "bag"
    shutil.copytree(release, bag)
    bagit.make_bag(str(bag), checksums=["sha256"])

    def check(root: Path) -> bool:
        shutil.rmtree(bag / "data")
        shutil.copytree(root, bag / "data")
        return bool(bagit.Bag(str(bag)).is_valid())

    return check


def with_model_signing(release: Path, work: Path) -> Check:
    from model_signing import signing, verifying

    private, public = key_in(work)
    signing.Config().use_elliptic_key_signer(private_key=private).sign(release, work / "model.sig")

    def check(root: Path) -> bool:
        # The name of the folder is part of what is signed.
        try:
            verifying.Config().use_elliptic_key_verifier(public_key=public).verify(root, work / "model.sig")
        except ValueError:
            return False
        return True

    return check


def with_corpusfmt(_release: Path, _work: Path) -> Check:
    return lambda root: not corpusfmt.verify(root).findings


MEANS = {
    "`sha256sum -c`": with_sha256sum,
    "BagIt": with_bagit,
    "model-signing": with_model_signing,
    "`corpusfmt verify`": with_corpusfmt,
}


def rows() -> Iterator[str]:
    yield f"| kind of tampering | {' | '.join(MEANS)} |"
    yield f"|---|{'--:|' * len(MEANS)}"
    noticed = {(kind, name): 0 for kind in KINDS for name in MEANS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number, release in enumerate(make(folder).values()):
            work = folder / f"work-{number}"
            work.mkdir()
            checks = {name: means(release, work) for name, means in MEANS.items()}
            assert all(check(release) for check in checks.values())
            for kind, tamper in KINDS.items():
                root = work / release.name
                shutil.copytree(release, root)
                tamper(root, data_of(root))
                for name, check in checks.items():
                    noticed[kind, name] += not check(root)
                shutil.rmtree(root)
    for kind in KINDS:
        yield f"| {kind} | {' | '.join(str(noticed[kind, name]) for name in MEANS)} |"
    sums = [sum(noticed[kind, name] for kind in KINDS) for name in MEANS]
    yield f"| of {len(KINDS) * len(FORMATS)} | {' | '.join(map(str, sums))} |"


def main() -> None:
    logging.disable(logging.CRITICAL)
    print("\n".join(rows()))


if __name__ == "__main__":
    main()
