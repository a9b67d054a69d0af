"""The pages about pools: the list, one pool, a new one, and a token with which runners join it."""

from typing import Final

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1 import fleet_messages as told
from ostler.protocol.v1.run_messages import QueueQuery, QueueReply
from ostler.server.call import Refusal, accepted
from ostler.server.calls.tokens import TokenCalls
from ostler.server.pages import wording
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.queue_pages import queue_rows
from ostler.server.pages.roles import operates
from ostler.server.pages.runner_pages import runner_rows
from ostler.server.pages.views import (
    Button,
    Link,
    NewPoolView,
    PoolRow,
    PoolsView,
    PoolTokenView,
    PoolView,
)
from ostler.store import jobs, pools, queue, runners
from ostler.store.database import Database

_MOST_USES = 1000
_HOUR_MS = 3_600_000
_FIELDS: Final = {"name_length": "name", "name_characters": "name", "name_taken": "name"}
_CHANGES: Final = {
    "enable": told.UpdatePoolRequest(disabled=False),
    "disable": told.UpdatePoolRequest(disabled=True),
    "default": told.UpdatePoolRequest(default=True),
}


class PoolPages:
    """See the module."""

    def __init__(self, database: Database, tokens: TokenCalls, effects: Effects, *, url: str) -> None:
        self._database = database
        self._tokens = tokens
        self._effects = effects
        self._url = url

    async def pools(self, request: PageRequest) -> Drawn:
        """The list, the hosted pool first."""
        found = await self._database.read(pools.list_all)
        rows = tuple(pool_row(pool) for pool in found)
        return Drawn("pools", "Pools", "pools", PoolsView(rows, can_create=operates(request.person)))

    async def pool(self, request: PageRequest) -> Drawn:
        """One pool with its runners and what waits for it."""
        found = accepted(await self._database.read(_pool, request.values["pool"]))
        pool, members, names, waiting = found
        operator = operates(request.person)
        view = PoolView(
            pool=pool_row(pool),
            facts=_facts(pool),
            runners=runner_rows(members, names),
            waiting=queue_rows(waiting.entries),
            buttons=_buttons(pool) if operator else (),
            can_join=operator,
        )
        return Drawn("pool", pool.name, "pools", view)

    async def change(self, request: PageRequest) -> Moved:
        """Enable, disable, or make it the default."""
        change = _CHANGES.get(request.values["change"])
        if change is None:
            raise Refusal(problem("not_found", "a pool can be enabled, disabled or made the default"))
        pool = accepted(await self._database.run(pools.update, request.values["pool"], change))
        return Moved(f"/pools/{pool.id}")

    async def new(self, request: PageRequest) -> Drawn:
        """The form for a new pool."""
        del request
        return _drawn_form(NewPoolView())

    async def create(self, request: PageRequest) -> Drawn | Moved:
        """Create a pool, or show the form again with what is wrong."""
        form = request.form
        name, labels = form.get("name", "").strip(), form.get("labels", "")
        multiple = form.get("multiple") == "1"
        wanted = told.CreatePoolRequest(
            name=name[:500],
            description=form.get("description", "").strip()[:1000],
            labels=labels.replace(",", " ").split(),
            allow_multiple_instances=multiple,
        )
        pool_id = self._effects.ids.new("pool")
        created = await self._database.run(pools.create, pool_id, wanted, self._effects.clock.now())
        if not isinstance(created, Refused):
            return Moved(f"/pools/{created.id}")
        field = _FIELDS.get(created.code, "labels")
        wrong = {field: created.reason[:1].upper() + created.reason[1:] + "."}
        view = NewPoolView(name=name, description=wanted.description, labels=labels, multiple=multiple, problems=wrong)
        return _drawn_form(view, 422)

    async def token(self, request: PageRequest) -> Drawn:
        """A registration token. It is in this answer and nowhere else, so there is no page to be sent to."""
        pool = accepted(await self._database.read(pools.get, request.values["pool"]))
        uses = request.form.get("uses", "")
        count = min(max(int(uses), 1), _MOST_USES) if uses.isdecimal() and len(uses) < 6 else 1
        wanted = told.CreateTokenRequest(name="from the pages", pool=pool.id, uses=count, ttl_ms=_HOUR_MS)
        made = await self._tokens.issue(request.person.user_id, wanted)
        view = PoolTokenView(
            pool=Link(pool.name, f"/pools/{pool.id}"),
            secret=made.secret,
            commands=(
                f"ostler agent configure --service-url {self._url} --token {made.secret}",
                "ostler agent run",
            ),
            uses=count,
            expires_at=made.token.expires_at,
        )
        return Drawn("pool_token", f"Join {pool.name}", "pools", view)


def pool_row(pool: told.PoolView) -> PoolRow:
    """One pool as a row."""
    return PoolRow(
        id=pool.id,
        name=pool.name,
        description=pool.description,
        status=wording.POOL[pool.status],
        labels=tuple(pool.labels),
        live_runners=pool.live_runners,
        busy_runners=pool.busy_runners,
        waiting_jobs=pool.waiting_jobs,
        hosted=pool.hosted,
        default=pool.default,
    )


_Found = tuple[told.PoolView, list[told.RunnerView], dict[str, jobs.Named], QueueReply]


def _pool(connection: Connection, wanted: str) -> _Found | Refused:
    pool = pools.get(connection, wanted)
    if isinstance(pool, Refused):
        return pool
    members = runners.list_page(connection, told.RunnersQuery(pool=pool.id, limit=200)).runners
    waiting = queue.list_page(connection, QueueQuery(pool=pool.id, limit=10))
    if isinstance(waiting, Refused):
        return waiting
    names = jobs.names(connection, [job_id for runner in members for job_id in runner.job_ids])
    return pool, members, names, waiting


def _facts(pool: told.PoolView) -> tuple[tuple[str, str], ...]:
    kinds = ", ".join(kind.value.replace("_", " ") for kind in pool.job_kinds)
    return (
        ("Job kinds", kinds or "all"),
        ("Runner processes", "several" if pool.allow_multiple_instances else "one"),
        ("Id", pool.id),
    )


def _buttons(pool: told.PoolView) -> tuple[Button, ...]:
    at = f"/pools/{pool.id}"
    buttons = [] if pool.default else [Button(text="Make default", action=f"{at}/default")]
    if pool.disabled:
        return (*buttons, Button(text="Enable", action=f"{at}/enable", main=True))
    return (*buttons, Button(text="Disable", action=f"{at}/disable", danger=True))


def _drawn_form(view: NewPoolView, status: int = 200) -> Drawn:
    return Drawn("pool_new", "New runner pool", "pools", view, status)
