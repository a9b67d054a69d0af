"""Telling forges of statuses until they have them: tried again with growing pauses, given up after a day.

Only the newest status of a context waits. A forge is reached as repositories are: only where the installation lets
the server connect to, held to the address that was judged, and without following it elsewhere (threat 27).
"""

import os
from typing import Final

import structlog

from ostler import __version__
from ostler.client.address import parse_address
from ostler.client.errors import AddressMalformed
from ostler.client.http_transport import HttpTransport
from ostler.client.transport import HttpRequest, HttpResponse, TransportError
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.server.forges.status import StatusCall, has_it, status_call
from ostler.server.git.addresses import public_addresses
from ostler.server.workflows.places import api_url
from ostler.store import forge_statuses, targets
from ostler.store.database import Database
from ostler.store.forge_statuses import Status
from ostler.store.sealing import Sealer

log = structlog.get_logger("ostler.server")

_FIRST_PAUSE_MICROS: Final = 2_000_000
_LONGEST_PAUSE_MICROS: Final = 3_600_000_000
_MOST_TRIES: Final = 30
_TRIES_OF_REFUSED: Final = 5
_SECONDS: Final = 15.0
_AT_ONCE: Final = 20
_PASSING: Final = frozenset({408, 409, 425, 429})


class ForgeOutbox:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects, url: str, *, private: bool) -> None:
        self._database = database
        self._sealer = sealer
        self._effects = effects
        self._url = url
        self._private = private

    async def round(self) -> bool:
        """Tell what is due."""
        taken = await self._database.run(forge_statuses.take, self._effects.clock.now(), limit=_AT_ONCE)
        for status in taken:
            try:
                why_not = await self._tell(status)
            except Exception as error:
                log.exception("status_failed", run_id=status.run_id)
                why_not = repr(error)
            await self._settle(status, why_not)
        return len(taken) >= _AT_ONCE

    async def _settle(self, status: Status, why_not: str | None) -> None:
        if why_not is None:
            await self._database.run(forge_statuses.done, status)
            return
        refused = why_not.startswith("refused")
        if status.tries >= (_TRIES_OF_REFUSED if refused else _MOST_TRIES):
            log.warning("status_given_up", run_id=status.run_id, sha=status.sha, reason=why_not)
            await self._database.run(forge_statuses.done, status)
            return
        log.info("status_not_told", run_id=status.run_id, tries=status.tries, reason=why_not)
        pause = min(_FIRST_PAUSE_MICROS * 2 ** (status.tries - 1), _LONGEST_PAUSE_MICROS)
        due_at = self._effects.clock.now() + int(pause * self._effects.random.uniform(0.8, 1.2))
        await self._database.run(forge_statuses.later, status, due_at)

    async def _tell(self, status: Status) -> str | None:
        """Tell one status; return why the forge does not have it."""
        repository = await self._database.read(targets.get, status.target_id)
        if isinstance(repository, Refused):
            return None
        token = repository.opened("forge_token", self._sealer)
        call = status_call(repository.view, status, token, f"{self._url}/runs/{status.run_id}")
        if call is None or not token:
            return None
        answer = await self._posted(api_url(repository.view), call)
        if isinstance(answer, str):
            return answer
        if has_it(repository.view, answer.status, answer.body):
            return None
        passing = answer.status >= 500 or answer.status in _PASSING
        return f"{'answered' if passing else 'refused with'} {answer.status}"

    async def _posted(self, base: str, call: StatusCall) -> HttpResponse | str:
        try:
            address = parse_address(base)
        except AddressMalformed as error:
            return f"refused: {error}"
        held_to = ""
        if not self._private:
            addresses = await public_addresses(address.host, address.port)
            if isinstance(addresses, Refused):
                return f"refused: {addresses.reason}"
            held_to = addresses[0]
        headers = {
            **call.headers,
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": f"ostler/{__version__}",
        }
        transport = HttpTransport(base, os.environ, held_to=held_to)
        try:
            return await transport.send(HttpRequest("POST", call.path, headers, call.body, _SECONDS))
        except TransportError as error:
            return error.reason
        finally:
            await transport.close()
