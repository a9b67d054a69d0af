"""What the command palette offers beyond the navigation: runs, pools and runners by a part of their name."""

import msgspec
from sqlalchemy import Connection

from ostler.protocol.v1.fleet_messages import RunnersQuery
from ostler.protocol.v1.run_messages import RunsQuery, RunSummary
from ostler.server.pages import wording
from ostler.server.pages.exchange import PageRequest, Plain
from ostler.server.pages.views import PaletteEntry, PaletteReply
from ostler.store import pools, runners, runs
from ostler.store.database import Database

_MOST = 6
_RUNNERS = 500


class Palette:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def entries(self, request: PageRequest) -> Plain:
        """The places that match."""
        search = request.query.get("q", "").strip()[:200]
        reply = await self._database.read(_found, search) if search else PaletteReply(())
        return Plain(msgspec.json.encode(reply), "application/json", headers=((b"cache-control", b"no-store"),))


def _found(connection: Connection, search: str) -> PaletteReply:
    wanted = search.lower()
    named = [pool for pool in pools.list_all(connection) if wanted in pool.name.lower()][:_MOST]
    fleet = runners.list_page(connection, RunnersQuery(limit=_RUNNERS)).runners
    members = [runner for runner in fleet if wanted in runner.name.lower()][:_MOST]
    newest = runs.list_page(connection, RunsQuery(search=search, limit=_MOST)).runs
    return PaletteReply(
        (
            *(PaletteEntry(pool.name, "Pool", f"/pools/{pool.id}") for pool in named),
            *(
                PaletteEntry(runner.name, f"Runner in {runner.pool_name}", f"/runners/{runner.id}")
                for runner in members
            ),
            *(PaletteEntry(run.name, _detail(run), f"/runs/{run.id}") for run in newest),
        )
    )


def _detail(run: RunSummary) -> str:
    return f"Run, {wording.RUN[run.state].label.lower()}"
