"""Opening the blob store that a URL names: the value of `--blobs` and `OSTLER_BLOBS`.

    file:///var/lib/ostler/blobs
    s3://bucket/prefix?endpoint=https://minio.example&region=us-east-1&path_style=true
    s3://KEY:SECRET@bucket?region=eu-central-1          (quote "/" and "+" in the secret)
    memory://                                           (lost when the process ends)

Whatever the URL of a bucket leaves out comes from the usual AWS_* variables, or from the identity of the instance or
pod. `public_endpoint` is where runners and browsers reach the bucket if that is not `endpoint`: with it, or without
any `endpoint`, artifacts are downloaded straight from the bucket by presigned URLs.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ostler.blobs.contract import Blobs
from ostler.blobs.deadline import DEADLINE_SECONDS
from ostler.blobs.errors import InvalidBlobsUrl, InvalidKey
from ostler.blobs.folder import FolderBlobs
from ostler.blobs.keys import checked_prefix
from ostler.blobs.memory import MemoryBlobs
from ostler.blobs.s3 import Bucket, Credentials, S3Blobs

_OPTIONS = frozenset({"endpoint", "public_endpoint", "region", "path_style"})
_SCHEMES = ("http://", "https://")


def open_blobs(
    url: str, environment: Mapping[str, str] | None = None, *, deadline_seconds: float = DEADLINE_SECONDS
) -> Blobs:
    """The store that the URL names; InvalidBlobsUrl if it names none. Nothing is contacted yet."""
    parts = _split(url)
    if parts.scheme == "file":
        return FolderBlobs(_folder(parts), deadline_seconds=deadline_seconds)
    if parts.scheme == "s3":
        return S3Blobs(bucket_of(url, environment or {}), deadline_seconds=deadline_seconds)
    if parts.scheme == "memory":
        return MemoryBlobs(deadline_seconds=deadline_seconds)
    raise InvalidBlobsUrl(f"The URL of the blob store has the unknown scheme {parts.scheme!r}.")


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise InvalidBlobsUrl(f"The URL of the blob store is malformed: {error}.") from None


def _folder(parts: SplitResult) -> Path:
    if parts.netloc not in {"", "localhost"}:
        raise InvalidBlobsUrl(f"The folder {parts.netloc + parts.path!r} is not absolute: write file:///…")
    path = Path(unquote(parts.path))
    if not path.is_absolute() or parts.query:
        raise InvalidBlobsUrl("A file URL needs an absolute path and takes no options.")
    return path


def bucket_of(url: str, environment: Mapping[str, str]) -> Bucket:
    """What an s3 URL and the environment together say about a bucket."""
    parts = _split(url)
    name = parts.netloc.rpartition("@")[2]
    if not name or ":" in name:
        raise InvalidBlobsUrl("An s3 URL needs a bucket and no port: the service's address goes into endpoint=.")
    options = _options(parts)
    endpoint = options.get("endpoint", environment.get("AWS_ENDPOINT_URL_S3", environment.get("AWS_ENDPOINT_URL", "")))
    region = options.get("region", environment.get("AWS_REGION", environment.get("AWS_DEFAULT_REGION", "")))
    public_endpoint = options.get("public_endpoint", "")
    for address in (endpoint, public_endpoint):
        if address and not address.startswith(_SCHEMES):
            raise InvalidBlobsUrl(f"The endpoint {address!r} is not an http:// or https:// URL.")
    if not region and not endpoint:
        raise InvalidBlobsUrl("AWS needs to know the bucket's region: add ?region=… or set AWS_REGION.")
    try:
        prefix = checked_prefix(parts.path.strip("/"))
    except InvalidKey as error:
        raise InvalidBlobsUrl(error.cause) from None
    return Bucket(
        name=name,
        prefix=prefix,
        endpoint=endpoint.rstrip("/"),
        public_endpoint=public_endpoint.rstrip("/"),
        region=region or "us-east-1",
        path_style=_truth(options.get("path_style", "true" if endpoint else "false")),
        credentials=_credentials(parts, environment),
    )


def _options(parts: SplitResult) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise InvalidBlobsUrl(f"Unknown options in the URL of the blob store: {', '.join(sorted(unknown))}.")
    return options


def _credentials(parts: SplitResult, environment: Mapping[str, str]) -> Credentials | None:
    if parts.username is not None:
        if not parts.username or not parts.password:
            raise InvalidBlobsUrl("The URL of the blob store has only half of a key pair.")
        return Credentials(unquote(parts.username), unquote(parts.password))
    access_key, secret_key = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if access_key and secret_key:
        return Credentials(access_key, secret_key, environment.get("AWS_SESSION_TOKEN") or None)
    return None


def _truth(text: str) -> bool:
    if text in {"true", "1", "yes"}:
        return True
    if text in {"false", "0", "no"}:
        return False
    raise InvalidBlobsUrl(f"path_style is true or false, not {text!r}.")
