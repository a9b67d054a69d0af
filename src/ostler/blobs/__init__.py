"""Bytes under keys, in a folder or in an S3 bucket: sealed logs, artifacts, caches, plans and states.

`contract` states what every store promises, `url` opens one, `errors` says what can go wrong. Which blob belongs to
what, who may see it and when it is deleted is left to the database and to those who use it.
"""

from ostler.blobs.contract import CHUNK_BYTES, PAGE_KEYS, Blob, Blobs, Stored
from ostler.blobs.sweep import delete_below
from ostler.blobs.url import open_blobs

__all__ = ["CHUNK_BYTES", "PAGE_KEYS", "Blob", "Blobs", "Stored", "delete_below", "open_blobs"]
