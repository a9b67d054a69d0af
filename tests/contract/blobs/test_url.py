"""The URL of the store is the operator's; what is wrong with it is said before the first blob is lost."""

import asyncio
from pathlib import Path

import pytest

from ostler.blobs import open_blobs
from ostler.blobs.errors import BlobStoreUnavailable, InvalidBlobsUrl
from ostler.blobs.memory import MemoryBlobs
from ostler.blobs.s3 import Bucket, Credentials, S3Blobs
from ostler.blobs.url import bucket_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_file_url_names_a_folder(tmp_path: Path) -> None:
    assert open_blobs(f"file://{tmp_path}/a%20b").description == f"{tmp_path}/a b"
    assert not list(tmp_path.iterdir())


def test_an_s3_url_says_all_there_is_to_say() -> None:
    url = "s3://key:a%2Fb%2Bc@bucket/some/prefix/?endpoint=https://s3.example/&region=eu-1&path_style=false"
    assert bucket_of(url + "&public_endpoint=https://files.example", {}) == Bucket(
        name="bucket",
        prefix="some/prefix",
        endpoint="https://s3.example",
        public_endpoint="https://files.example",
        region="eu-1",
        path_style=False,
        credentials=Credentials("key", "a/b+c"),
    )


def test_the_environment_fills_in_what_the_url_leaves_out() -> None:
    environment = {
        "AWS_ENDPOINT_URL": "http://localhost:9000",
        "AWS_REGION": "eu-2",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
    }
    assert bucket_of("s3://bucket", environment) == Bucket(
        name="bucket",
        endpoint="http://localhost:9000",
        region="eu-2",
        path_style=True,
        credentials=Credentials("key", "secret", "token"),
    )
    assert bucket_of("s3://other:pair@bucket?region=x", environment).credentials == Credentials("other", "pair")


def test_aws_itself_needs_a_region_and_nothing_else() -> None:
    assert bucket_of("s3://bucket?region=eu-1", {}) == Bucket(name="bucket", region="eu-1")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/var/lib/blobs",
        "ftp://host/path",
        "file://relative/path",
        "file:relative",
        "file:///path?option=1",
        "s3://",
        "s3://bucket",
        "s3://host:9000/bucket?region=x",
        "s3://bucket?region=x&pathstyle=true",
        "s3://bucket?region=x&path_style=maybe",
        "s3://bucket?endpoint=minio:9000",
        "s3://key@bucket?region=x",
        "s3://bucket/../up?region=x",
        "s3://[bucket",
    ],
)
def test_what_is_wrong_is_said_with_an_example(url: str) -> None:
    with pytest.raises(InvalidBlobsUrl) as caught:
        open_blobs(url, {})
    assert "s3://bucket/prefix" in str(caught.value)


def test_no_description_and_no_error_shows_a_credential() -> None:
    store = open_blobs("s3://key:hidden@bucket/p?endpoint=http://localhost:1", {})
    assert isinstance(store, S3Blobs)
    assert "hidden" not in store.description
    assert "hidden" not in repr(bucket_of("s3://key:hidden@bucket?region=x", {}))
    with pytest.raises(InvalidBlobsUrl) as caught:
        open_blobs("s3://key:hidden@bucket", {})
    assert "hidden" not in str(caught.value)


async def test_the_memory_store_lets_a_simulation_fail_and_delay_operations() -> None:
    calls: list[tuple[str, str]] = []

    async def before(operation: str, key: str) -> None:
        calls.append((operation, key))
        if operation == "delete":
            raise BlobStoreUnavailable("The simulated store is away.", "Wait.")
        if operation == "head":
            await asyncio.Event().wait()

    blobs = MemoryBlobs(before=before, deadline_seconds=0.01)
    await blobs.put("a/b", b"data")
    with pytest.raises(BlobStoreUnavailable, match="away"):
        await blobs.delete("a/b")
    with pytest.raises(BlobStoreUnavailable, match="within"):
        await blobs.head("a/b")
    assert calls == [("put", "a/b"), ("delete", "a/b"), ("head", "a/b")]
    assert await blobs.get("a/b") == b"data"
