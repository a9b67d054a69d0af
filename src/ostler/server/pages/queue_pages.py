"""The page of the queue: what waits, in the order of service, and why (rule 13)."""

from urllib.parse import quote, urlencode

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1 import run_messages as told
from ostler.server.call import accepted
from ostler.server.pages.exchange import Drawn, PageRequest
from ostler.server.pages.run_pages import pool_choices
from ostler.server.pages.views import Link, NearRunner, QueueRow, QueueView
from ostler.store import pools, queue
from ostler.store.database import Database


class QueuePages:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def queue(self, request: PageRequest) -> Drawn:
        """A page of the queue."""
        pool, after = request.query.get("pool", ""), request.query.get("after", "")
        query = told.QueueQuery(pool=pool, cursor=after)
        found, all_pools = await self._database.read(_queue, query)
        reply = accepted(found)
        chosen = {"pool": pool} if pool else {}
        following = urlencode({**chosen, "after": reply.next_cursor}) if reply.next_cursor else ""
        running = sum(each.busy_runners for each in all_pools if pool in ("", each.id, each.name))
        view = QueueView(
            rows=tuple(queue_row(entry) for entry in reply.entries),
            total=reply.depth,
            running=running,
            pools=pool_choices(all_pools, pool),
            query=urlencode({**chosen, "after": after} if after else chosen),
            filtered=bool(chosen),
            next_href=f"/queue?{following}" if following else "",
        )
        return Drawn("queue", "Queue", "queue", view)


def queue_row(entry: told.QueueEntry) -> QueueRow:
    """One waiting job as a row."""
    reason = entry.reason
    return QueueRow(
        job_id=entry.job_id,
        name=entry.name,
        run=Link(entry.name, f"/runs/{entry.run_id}"),
        pool=Link(entry.pool_name, f"/pools/{entry.pool_name}"),
        place=reason.position,
        priority=entry.priority,
        labels=tuple(entry.labels),
        queued_at=entry.created_at,
        why=reason.sentence,
        fix=reason.would_start,
        estimate_ms=reason.estimate_ms,
        near=tuple(
            NearRunner(Link(near.runner_name, f"/runners/{quote(near.runner_name, safe='')}"), _listed(near.lacks))
            for near in reason.near
        ),
    )


def _queue(connection: Connection, query: told.QueueQuery) -> tuple[told.QueueReply | Refused, list[pools.PoolView]]:
    return queue.list_page(connection, query), pools.list_all(connection)


def _listed(lacks: list[str]) -> str:
    return ", ".join(f"lacks {each}" if each.startswith(("label", "isolation")) else each for each in lacks)
