"""The page of the queue: what waits, in the order of service, and why (rule 13)."""

from collections.abc import Sequence
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

_MOST_DIGITS = 10


class QueuePages:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def queue(self, request: PageRequest) -> Drawn:
        """A page of the queue."""
        pool, after = request.query.get("pool", ""), request.query.get("after", "")
        start = request.query.get("from", "")
        first = int(start) if after and start.isdecimal() and len(start) < _MOST_DIGITS else 1
        query = told.QueueQuery(pool=pool, cursor=after)
        found, all_pools = await self._database.read(_queue, query)
        reply = accepted(found)
        chosen = {"pool": pool} if pool else {}
        later = {**chosen, "after": reply.next_cursor, "from": first + len(reply.entries)}
        running = sum(each.busy_runners for each in all_pools if pool in ("", each.id, each.name))
        view = QueueView(
            rows=queue_rows(reply.entries, first),
            total=reply.depth,
            running=running,
            pools=pool_choices(all_pools, pool),
            query=urlencode({**chosen, "after": after, "from": first} if after else chosen),
            filtered=bool(chosen),
            next_href=f"/queue?{urlencode(later)}" if reply.next_cursor else "",
        )
        return Drawn("queue", "Queue", "queue", view)


def queue_rows(entries: Sequence[told.QueueEntry], first: int = 1) -> tuple[QueueRow, ...]:
    """Waiting jobs as rows, in the order in which they are served."""
    return tuple(_row(entry, place) for place, entry in enumerate(entries, first))


def _row(entry: told.QueueEntry, place: int) -> QueueRow:
    reason = entry.reason
    # Whoever is only busy does not *nearly* match.
    near = () if reason.code == "busy" else reason.near
    return QueueRow(
        job_id=entry.job_id,
        name=entry.name,
        run=Link(entry.name, f"/runs/{entry.run_id}"),
        pool=Link(entry.pool_name, f"/pools/{entry.pool_name}"),
        place=place,
        priority=entry.priority,
        labels=tuple(entry.labels),
        queued_at=entry.created_at,
        why=reason.sentence,
        fix=reason.would_start,
        estimate_ms=reason.estimate_ms,
        near=tuple(
            NearRunner(
                Link(runner.runner_name, f"/runners/{quote(runner.runner_name, safe='')}"), _listed(runner.lacks)
            )
            for runner in near
        ),
    )


def _queue(connection: Connection, query: told.QueueQuery) -> tuple[told.QueueReply | Refused, list[pools.PoolView]]:
    return queue.list_page(connection, query), pools.list_all(connection)


def _listed(lacks: list[str]) -> str:
    return ", ".join(f"lacks {each}" if each.startswith(("label", "isolation")) else each for each in lacks)
