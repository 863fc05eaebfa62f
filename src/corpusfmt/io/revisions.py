"""Internal: Repositories on the Hub: a revision becomes a commit before anything is read, so that a run reads one state."""

from __future__ import annotations

import re
from functools import cache, partial
from importlib import import_module
from typing import Any, NoReturn
from urllib.parse import quote, unquote

from corpusfmt.io.stores import StoreFailure, may_pass, one_line, persistently, status_of
from corpusfmt.model import Json, UsageError

_SCHEME = "hf://"
_BUCKET = "hf://buckets/"
# Names of revisions may be quoted; those of the Hub itself need not be.
_ADDRESS = (
    r"(?s)hf://(?P<kind>(?:datasets|spaces|models)/|(?!(?:datasets|spaces|models|buckets)/))(?P<name>[^/@]+/[^/@]+)"
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?(?P<path>(?:/.*)?)"
)
_COMMIT = re.compile("[0-9a-f]{40}")
_TOKEN = "set HF_TOKEN, or run `hf auth login`"  # noqa: S105 - the name of a variable


def pinned(url: str, served: Any) -> str:
    """Return an address on the Hub with its revision as a commit; `served` is fsspec's file system for it.

    Raises `UsageError` for a repository or revision that does not exist or may not be read, `OSError` if the Hub fails.
    """
    address = re.fullmatch(_ADDRESS, url)
    if address is None:
        if url.startswith(_BUCKET):
            return url
        raise UsageError(
            f"{url} is not the address of a repository, expected hf://datasets/OWNER/NAME[@REVISION][/PATH]"
        )
    revision = unquote(address["revision"] or "")
    find = _found if _COMMIT.fullmatch(revision) else _found.__wrapped__
    commit = find(address["kind"], address["name"], revision, served.endpoint, served.token)
    return f"{_SCHEME}{address['kind']}{address['name']}@{quote(commit, safe='')}{address['path']}"


def files_at(url: str, served: Any) -> list[tuple[str, int, str]]:
    """Return path, size and SHA-256 (hexadecimal, else empty) of the files below a pinned address, asked for in pages."""
    place = served.resolve_path(url)
    above = f"{place.path_in_repo}/" if place.path_in_repo else ""
    api = import_module("huggingface_hub").HfApi(endpoint=served.endpoint, token=served.token)
    asked = {"recursive": True, "revision": place.revision, "repo_type": place.repo_type}

    def listed() -> list[tuple[str, int, str]]:
        tree = api.list_repo_tree(place.repo_id, place.path_in_repo or None, **asked)
        files = (each for each in tree if hasattr(each, "blob_id"))
        return [(each.path.removeprefix(above), each.size, getattr(each.lfs, "sha256", "")) for each in files]

    return persistently(f"list {url}", listed)


def revision_of(url: str) -> Json:
    """Return what a report says of a pinned address on the Hub: the commit of its repository; nothing of other paths."""
    address = re.fullmatch(_ADDRESS, url) if url.startswith(_SCHEME) else None
    if address is None or not address["revision"]:
        return {}
    return {"revisions": {f"{_SCHEME}{address['kind']}{address['name']}": address["revision"]}}


@cache
def _found(kind: str, name: str, revision: str, endpoint: str, token: Any) -> str:
    """Return the commit of a revision, after one or two requests; that of a commit does not change."""
    api = import_module("huggingface_hub").HfApi(endpoint=endpoint, token=token)
    repository = f"{_SCHEME}{kind}{name}"
    asked = {"repo_type": kind.rstrip("s/") or None}
    try:
        ask = partial(api.repo_info, name, revision=revision or None, **asked)
        facts = persistently(f"find {repository}", ask)
        if getattr(facts, "gated", False) and hasattr(api, "auth_check"):
            persistently(f"find {repository}", partial(api.auth_check, name, **asked))
    except OSError as error:
        _refuse(repository, revision, error)
    return str(facts.sha or revision)


def _refuse(repository: str, revision: str, error: OSError) -> NoReturn:
    cause = error.__cause__ or error
    names = {each.__name__ for each in type(cause).__mro__}
    said = ""
    if "GatedRepoError" in names:
        said = f"is gated: ask for access on its page, then {_TOKEN}"
    elif "RevisionNotFoundError" in names:
        said = f"has no revision `{revision}`: name a branch, a tag or a commit, or leave it out"
    elif "RepositoryNotFoundError" in names or status_of(cause) == 404:
        said = f"does not exist or is private: correct the name, or {_TOKEN}"
    elif status_of(cause) in {401, 403}:
        said = f"may not be read with these credentials: {_TOKEN}"
    elif "HFValidationError" in names:
        said = "is not the name of a repository, expected hf://datasets/OWNER/NAME"
    if said:
        raise UsageError(f"{repository} {said}") from error
    hint = "; check the network, the endpoint and the state of the service" if may_pass(cause) else ""
    raise StoreFailure(error.errno, f"cannot read {repository}: {one_line(cause)}{hint}") from error
