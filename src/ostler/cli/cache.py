"""``ostler cache``: the cache entries of repositories, listed, deleted and pruned."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import DURATION, SIZE, json_option
from ostler.effects import system_effects
from ostler.protocol.v1.cache_messages import CachesQuery, CacheView, PruneCachesRequest
from ostler.protocol.v1.cache_table import DELETE_CACHE, LIST_CACHES, PRUNE_CACHES


@click.group()
def cache() -> None:
    """List, delete and prune the caches of repositories."""


@cache.command("list")
@click.option("--repository", default="", help="Only of this repository.")
@click.option("--key", default="", help="Only entries whose key begins so.")
@click.option("--cursor", default="", help="Go on after the last entry of an earlier list.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
def list_(*, repository: str, key: str, cursor: str, limit: int, as_json: bool) -> None:
    """List entries, newest first."""
    query = CachesQuery(repository=repository, key=key, cursor=cursor, limit=limit)
    reply = with_client(lambda client: client.call(LIST_CACHES, query=query))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    headings = ("KEY", "REPOSITORY", "REF", "SIZE", "MADE", "USED", "CACHE")
    output.print_table(headings, [_row(item, now) for item in reply.caches], empty="no cache entries")
    if reply.caches:
        output.say(f"{output.size(reply.total_bytes)} in all")
    if reply.next_cursor:
        output.say(f"more: --cursor {reply.next_cursor}")


@cache.command()
@click.argument("cache_id", metavar="CACHE")
def delete(*, cache_id: str) -> None:
    """Delete an entry, named by its id."""
    with_client(lambda client: client.call(DELETE_CACHE, cache_id=cache_id))
    output.say(f"cache entry {cache_id} deleted")


@cache.command()
@click.option("--repository", default="", help="Only of this repository.")
@click.option("--unused", type=DURATION, default=None, help="Delete what nobody has read for so long.")
@click.option("--keep", type=SIZE, default=None, help="Keep at most so much of each repository, the latest used first.")
@json_option
def prune(*, repository: str, unused: int | None, keep: int | None, as_json: bool) -> None:
    """Delete entries that nobody needs; without options, those that the server would delete soon by itself."""
    request = PruneCachesRequest(repository=repository, unused_ms=unused, keep_bytes=keep)
    reply = with_client(lambda client: client.call(PRUNE_CACHES, request=request))
    if as_json:
        output.print_json(reply)
        return
    entries = f"{reply.entries} {'entry' if reply.entries == 1 else 'entries'}"
    output.say(f"{entries} deleted, {output.size(reply.bytes)}")


def _row(item: CacheView, now: int) -> tuple[str, ...]:
    return (
        output.shown(item.key, 60),
        output.shown(item.repository) or "-",
        output.shown(item.ref, 40) + ("" if item.trusted else " (untrusted)"),
        output.size(item.size),
        output.ago(item.created_at, now),
        output.ago(item.used_at, now),
        item.id,
    )
