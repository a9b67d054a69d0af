"""The calls about caches. The whole table, these rows included, is ``ostler.protocol.v1.table.ENDPOINTS``."""

from ostler.protocol.endpoint import GIB, Auth, Binary, Endpoint, Nothing
from ostler.protocol.v1 import artifact_messages as uploads, cache_messages as caches
from ostler.protocol.v1.artifact_table import FINISH, UPLOAD

FIND_CACHE = Endpoint(
    name="find_cache",
    method="POST",
    path="/job/v1/caches/find",
    summary="Find the entry to restore",
    request=caches.FindCacheRequest,
    reply=caches.FindCacheReply,
    auth=Auth.JOB,
    problems=("value_refused",),
)
RESERVE_CACHE = Endpoint(
    name="reserve_cache",
    method="POST",
    path="/job/v1/caches",
    summary="Begin an entry",
    request=caches.ReserveCacheRequest,
    reply=uploads.UploadReply,
    auth=Auth.JOB,
    status=201,
    problems=("cache_exists", "cache_refused", "value_refused", "quota_exceeded"),
)
PUT_CACHE = Endpoint(
    name="put_cache",
    method="PUT",
    path="/job/v1/caches/{cache_id}/content",
    summary="Put bytes of an entry at an offset",
    request=Binary,
    reply=uploads.PartReply,
    query=uploads.PartQuery,
    auth=Auth.JOB,
    streamed=True,
    body_limit=64 * GIB,
    problems=UPLOAD,
)
FINISH_CACHE = Endpoint(
    name="finish_cache",
    method="POST",
    path="/job/v1/caches/{cache_id}/finish",
    summary="Finish an entry: from now on it can be read and is never changed",
    request=uploads.FinishUploadRequest,
    reply=caches.CacheHit,
    auth=Auth.JOB,
    problems=FINISH,
)
READ_CACHE = Endpoint(
    name="read_cache",
    method="GET",
    path="/job/v1/caches/{cache_id}/content",
    summary="Download an entry that the job may read; takes a Range of bytes",
    request=Nothing,
    reply=Nothing,
    auth=Auth.JOB,
    stream="application/octet-stream",
    problems=("not_found",),
)
LIST_CACHES = Endpoint(
    name="list_caches",
    method="GET",
    path="/api/v1/caches",
    summary="List cache entries, newest first",
    request=Nothing,
    reply=caches.CachesReply,
    query=caches.CachesQuery,
    problems=("not_found",),
)
DELETE_CACHE = Endpoint(
    name="delete_cache",
    method="DELETE",
    path="/api/v1/caches/{cache_id}",
    summary="Delete a cache entry",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
PRUNE_CACHES = Endpoint(
    name="prune_caches",
    method="POST",
    path="/api/v1/caches/prune",
    summary="Delete cache entries that nobody needs",
    request=caches.PruneCachesRequest,
    reply=caches.PruneCachesReply,
    auth=Auth.OPERATOR,
    problems=("not_found",),
)
