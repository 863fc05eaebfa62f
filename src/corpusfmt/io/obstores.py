"""Internal: Objects of S3 put by obstore, if it is installed, with the settings of the file system that reads there.

Its puts have the same guarantees as those of s3fs: the object appears whole, by one request, or by parts that one request completes.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from obstore import PutMode
    from obstore.store import ClientConfig, RetryConfig, S3Credential, S3Store

_SCHEMES = {"s3", "s3a"}
_REFUSED_SEGMENTS = {"", ".", ".."}
_PART_BYTES = 8 << 20
_MOST_PARTS = 10_000  # of one object, in S3
_PARTS_AT_A_TIME = 4
_ATTEMPTS = 5  # by default in botocore
_A_REQUEST = timedelta(minutes=5)
# obstore asks again five minutes before that, and botocore renews what expires within ten.
_CREDENTIALS_LAST = timedelta(minutes=10)


class Bucket(Struct, frozen=True):
    """A bucket that obstore puts objects to."""

    store: S3Store
    credentials: Callable[[], S3Credential]

    def put(self, place: str, source: Path | bytes, *, only_new: bool = False) -> None:
        """Put an object at a place that begins with the bucket. Raises `OSError`; with `only_new`, `FileExistsError` if there is one."""
        import obstore  # noqa: PLC0415 - an extra

        self.credentials()  # What this raises names its reason, but not once it went through obstore.
        size = source.stat().st_size if isinstance(source, Path) else len(source)
        part = max(_PART_BYTES, -(-size // _MOST_PARTS))
        mode: PutMode = "create" if only_new else "overwrite"
        key = place.partition("/")[2]
        try:
            obstore.put(self.store, key, source, mode=mode, chunk_size=part, max_concurrency=_PARTS_AT_A_TIME)
        except (obstore.exceptions.BaseError, FileNotFoundError) as error:
            raise _as_os_error(error) from error


def bucket_of(scheme: str, place: str, filesystem: Any) -> Bucket | None:
    """Return the bucket of an object if obstore can put it as the file system would, else None.

    It is not asked to if options are set for the file system, which it does not know, if requests would be redirected to
    another region, or if it would refuse the name.
    """
    name, *segments = place.split("/")
    if scheme not in _SCHEMES or filesystem.storage_options or not _REFUSED_SEGMENTS.isdisjoint(segments):
        return None
    try:
        return _bucket_of(name, filesystem)
    # obstore is not installed; or the answer to a put says more than this one, which has no body.
    except (ImportError, FileNotFoundError, PermissionError):
        return None


@lru_cache(maxsize=8)
def _bucket_of(bucket: str, filesystem: Any) -> Bucket | None:
    from obstore.store import S3Store  # noqa: PLC0415 - an extra

    meta = filesystem.s3.meta
    found = filesystem.call_s3("head_bucket", Bucket=bucket)["ResponseMetadata"]["HTTPHeaders"]
    if found.get("x-amz-bucket-region", meta.region_name) != meta.region_name:
        return None
    client: ClientConfig = {"allow_http": meta.endpoint_url.startswith("http:"), "timeout": _A_REQUEST}
    trusted = filesystem.session.get_config_variable("ca_bundle")
    if trusted:
        client["root_certificate"] = Path(trusted).read_bytes()
    retries: RetryConfig = {
        "max_retries": meta.config.retries.get("total_max_attempts", _ATTEMPTS) - 1,
        "retry_timeout": _A_REQUEST,
    }
    credentials = _credentials_of(filesystem)
    store = S3Store(
        bucket,
        endpoint=meta.endpoint_url,
        region=meta.region_name,
        client_options=client,
        retry_config=retries,
        credential_provider=credentials,
    )
    return Bucket(store, credentials)


def _credentials_of(filesystem: Any) -> Callable[[], S3Credential]:
    from botocore.exceptions import NoCredentialsError  # noqa: PLC0415 - an extra
    from fsspec.asyn import sync  # noqa: PLC0415 - slow to import, and rarely needed

    async def current() -> Any:
        found = await filesystem.session.get_credentials()
        if found is None:
            raise NoCredentialsError
        return await found.get_frozen_credentials()

    def credentials() -> S3Credential:
        key, secret, token, *_ = sync(filesystem.loop, current)
        until = datetime.now(UTC) + _CREDENTIALS_LAST
        return {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": until}

    return credentials


def _as_os_error(error: Exception) -> OSError:
    """Return an exception of obstore as the file system's for the same answer, which is only in the text of the former."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - an extra
    from s3fs.errors import translate_boto_error  # noqa: PLC0415 - an extra

    said = str(error).partition("\n\nDebug source")[0]
    status = re.search(r"status code: (\d{3})", said)
    if status is None:
        return ConnectionError(errno.EIO, said.rpartition(" - ")[2])
    code, message = (re.search(rf"<{name}>([^<]+)</{name}>", said) for name in ("Code", "Message"))
    if status[1] == "412":
        return FileExistsError(errno.EEXIST, "there is an object already")
    answer = {"Code": code[1] if code else status[1], "Message": message[1] if message else said.rpartition(" - ")[2]}
    about = {"HTTPStatusCode": int(status[1])}
    translated: OSError = translate_boto_error(ClientError({"Error": answer, "ResponseMetadata": about}, "PutObject"))
    return translated
