"""What an operator meets with a bucket: wrong keys, a wrong address, a store that is away, slow or half there."""

import asyncio
import http.client
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import pytest

from ostler.blobs import Blobs, open_blobs
from ostler.blobs.errors import BlobError, BlobStoreDenied, BlobStoreUnavailable
from tests.contract.blobs.streams import MEBIBYTE, chunked, collected, pattern
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.proxy import BOTH, TO_CLIENT, Direction, TcpProxy
from tests.parts.s3 import ACCESS_KEY, SECRET_KEY, S3Server

pytestmark = pytest.mark.anyio

OPERATIONS: dict[str, Callable[[Blobs], Awaitable[object]]] = {
    "put": lambda blobs: blobs.put("a/b", b"data"),
    "put_if_absent": lambda blobs: blobs.put("a/c", b"data", if_absent=True),
    "put_stream": lambda blobs: blobs.put_stream("a/b", chunked(b"data", 2), at_most=10),
    "get": lambda blobs: blobs.get("a/b"),
    "get_range": lambda blobs: blobs.get_range("a/b", 0, 1),
    "get_stream": lambda blobs: collected(blobs.get_stream("a/b")),
    "head": lambda blobs: blobs.head("a/b"),
    "delete": lambda blobs: blobs.delete("a/b"),
    "list": lambda blobs: anext(blobs.list("a")),
    "check": lambda blobs: blobs.check(),
    "check_write": lambda blobs: blobs.check(write=True),
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())


@pytest.fixture
def network(s3_server: S3Server) -> Iterator[TcpProxy]:
    with TcpProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def distant(s3_server: S3Server, network: TcpProxy) -> Callable[[float], Blobs]:
    """Opens a store behind the faulty network, with a deadline in seconds."""
    url = s3_server.new_blobs_url().replace(str(s3_server.port), str(network.port))
    return lambda deadline: open_blobs(url, deadline_seconds=deadline)


def assert_helpful(error: BlobError, *secrets: str) -> None:
    assert error.cause
    assert error.fix
    for secret in secrets:
        assert secret not in str(error)


@every_operation
async def test_wrong_credentials_are_denied(
    s3_server: S3Server, operation: Callable[[Blobs], Awaitable[object]]
) -> None:
    blobs = open_blobs(s3_server.blobs_url(secret="not/the+secret"))
    with pytest.raises(BlobStoreDenied) as caught:
        await operation(blobs)
    assert_helpful(caught.value, "not/the+secret", ACCESS_KEY)


@every_operation
async def test_an_endpoint_where_nothing_listens_is_unavailable(
    s3_server: S3Server, operation: Callable[[Blobs], Awaitable[object]]
) -> None:
    url = s3_server.blobs_url(endpoint=f"http://{LOOPBACK}:{free_port()}")
    with pytest.raises(BlobStoreUnavailable) as caught:
        await operation(open_blobs(url, deadline_seconds=0.5))
    assert_helpful(caught.value, SECRET_KEY)


async def test_a_bucket_that_does_not_exist_is_named(s3_server: S3Server) -> None:
    blobs = open_blobs(s3_server.blobs_url("no-such-bucket"))
    with pytest.raises(BlobStoreUnavailable, match="no-such-bucket"):
        await blobs.check()
    with pytest.raises(BlobStoreUnavailable, match="no-such-bucket"):
        await blobs.get("a/b")


@pytest.mark.parametrize("direction", BOTH)
async def test_a_store_that_does_not_answer_is_given_up_at_the_deadline(
    distant: Callable[[float], Blobs], network: TcpProxy, direction: Direction
) -> None:
    async def outcome(operation: Callable[[Blobs], Awaitable[object]]) -> str:
        try:
            await operation(distant(0.4))
        except BlobError as error:
            return error.code
        return "done"

    network.blackhole(direction)
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(*(outcome(operation) for operation in OPERATIONS.values()))
    assert dict(zip(OPERATIONS, outcomes, strict=True)) == dict.fromkeys(OPERATIONS, BlobStoreUnavailable.code)


async def test_connections_that_break_are_tried_again(distant: Callable[[float], Blobs], network: TcpProxy) -> None:
    blobs = distant(30.0)
    await blobs.put("a/b", b"data")
    network.reset_connections()
    assert await blobs.get("a/b") == b"data"
    network.reset_connections()
    await blobs.put("a/b", b"other")
    assert await blobs.get("a/b") == b"other"


async def test_a_large_upload_cut_in_the_middle_leaves_nothing(
    distant: Callable[[float], Blobs], network: TcpProxy
) -> None:
    async def cut_on_the_way() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield pattern(MEBIBYTE)
        network.cut()
        yield pattern(MEBIBYTE)

    with pytest.raises(BlobStoreUnavailable):
        await distant(2.0).put_stream("a/b", cut_on_the_way(), at_most=100 * MEBIBYTE)
    network.mend()
    assert [page async for page in distant(30.0).list()] == []


async def test_a_slow_download_may_take_longer_than_the_deadline(
    distant: Callable[[float], Blobs], network: TcpProxy
) -> None:
    data = pattern(6 * MEBIBYTE)
    await distant(30.0).put("a/b", data)
    network.throttle(4 * MEBIBYTE, TO_CLIENT)
    assert await collected(distant(1.2).get_stream("a/b")) == data


async def test_a_download_that_stalls_is_given_up(distant: Callable[[float], Blobs], network: TcpProxy) -> None:
    await distant(30.0).put("a/b", pattern(30 * MEBIBYTE))
    chunks = distant(1.0).get_stream("a/b")
    await anext(chunks)
    network.blackhole(TO_CLIENT)
    with pytest.raises(BlobStoreUnavailable):
        await collected(chunks)


async def test_a_presigned_url_opens_one_blob_and_no_other(s3_server: S3Server) -> None:
    blobs = open_blobs(s3_server.new_blobs_url())
    await blobs.put("artifacts/run_1/a", b"for you")
    await blobs.put("artifacts/run_1/b", b"for others")
    url = await blobs.presign("artifacts/run_1/a", 60)
    assert url is not None
    assert SECRET_KEY not in url
    assert await asyncio.to_thread(fetch, url) == (http.client.OK, b"for you")
    status, content = await asyncio.to_thread(fetch, url.replace("run_1/a", "run_1/b"))
    assert status == http.client.FORBIDDEN
    assert b"for others" not in content


async def test_without_a_public_endpoint_there_are_no_presigned_urls(s3_server: S3Server) -> None:
    url, _, _ = s3_server.new_blobs_url().partition("?")
    private = open_blobs(f"{url}?endpoint={s3_server.endpoint}")
    assert await private.presign("a/b", 60) is None


async def test_credentials_come_from_the_environment_too(s3_server: S3Server) -> None:
    bucket = urlsplit(s3_server.new_blobs_url())
    url = f"s3://{bucket.netloc.rpartition('@')[2]}{bucket.path}?endpoint={s3_server.endpoint}"
    environment = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    await open_blobs(url, environment).put("a/b", b"data")
    with pytest.raises(BlobStoreDenied):
        await open_blobs(url, environment | {"AWS_SECRET_ACCESS_KEY": "wrong"}).put("a/b", b"data")


async def test_a_session_token_of_the_host_does_not_join_the_urls_key(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-someone-else")
    await open_blobs(s3_server.new_blobs_url()).put("a/b", b"data")


def fetch(url: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
