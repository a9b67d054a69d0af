"""One server process from settings to shutdown: open what it stands on, wire it, listen, drain, close."""

import asyncio
import gc
import os
from collections.abc import Mapping

import msgspec
import structlog

from ostler.blobs import open_blobs
from ostler.domain.pool import HOSTED_POOL
from ostler.effects import Effects
from ostler.protocol.v1.fleet_messages import CreateTokenRequest, Identity
from ostler.server.calls.tokens import API_TOKEN_MS
from ostler.server.errors import KeyUnusable
from ostler.server.keys import MasterKey, decode_master_key, read_master_key
from ostler.server.serving import GracefulServer, listen, server
from ostler.server.settings import ServerSettings
from ostler.server.wiring import Control
from ostler.store import sign_in
from ostler.store.database import Database
from ostler.store.open import open_database

log = structlog.get_logger("ostler.server")

_ADMINISTRATOR = "admin"
_EMBEDDED_MS = 600_000
_SIGN_IN_MICROS = 3_600_000_000
_SILENT_SECONDS = 2.0
_COLLECT_AFTER = (10_000, 10, 100)


def master_key(settings: ServerSettings, environment: Mapping[str, str]) -> MasterKey:
    """Return the installation's key, from where the settings say it is."""
    text = environment.get("OSTLER_MASTER_KEY", "")
    if text:
        return decode_master_key(text)
    if settings.key_file is None:
        raise KeyUnusable("no master key was given")
    return read_master_key(settings.key_file)


class Program:
    """See the module. ``ready`` is set once requests are answered."""

    def __init__(self, settings: ServerSettings, key: MasterKey, effects: Effects) -> None:
        self._settings = settings
        self._key = key
        self._effects = effects
        self._control: Control | None = None
        self._server: GracefulServer | None = None
        self.ready = asyncio.Event()
        self.url = settings.url
        self.local_url = settings.url

    async def run(self) -> None:
        """Serve until a signal says stop."""
        listener = listen(self._settings.host, self._settings.port)
        port: int = listener.getsockname()[1]
        bound = msgspec.structs.replace(self._settings, port=port)
        self.url = bound.url
        self.local_url = msgspec.structs.replace(bound, public_url="").url
        database = await self._opened()
        blobs = open_blobs(self._settings.blobs, os.environ)
        control = Control(bound, self._key, database, blobs, self._effects)
        self._control = control
        self._server = server(control.application, control.drain)
        _calm_the_collector()
        serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        watching = asyncio.create_task(control.started.wait())
        try:
            await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
            if control.started.is_set():
                self.ready.set()
            await serving
        finally:
            watching.cancel()
            await blobs.aclose()
            await database.close()

    async def _opened(self) -> Database:
        """Open the database, and say so when it keeps everyone waiting."""
        opening = asyncio.ensure_future(open_database(self._settings.database))
        try:
            done, _ = await asyncio.wait({opening}, timeout=_SILENT_SECONDS)
            if not done:
                log.warning("waiting_for_database", fix="Check that it runs and that this machine may connect to it.")
            return await opening
        finally:
            opening.cancel()

    def stop(self) -> None:
        """Begin to stop, as a signal would."""
        if self._server is not None:
            self._server.stop()

    async def sign_in_link(self) -> str:
        """Return a link that signs the administrator in, once, within the hour."""
        control = self._wired()
        user = await self._administrator()
        # Never begins with a hyphen, which `ostler login URL CODE` would take for an option.
        code = f"in_{self._effects.random.token()}"
        expires_at = self._effects.clock.now() + _SIGN_IN_MICROS
        await control.database.run(sign_in.create_code, code, user.user_id, expires_at)
        return f"{self.url}/sign-in/{code}"

    async def local_token(self) -> str:
        """Return an API token for the command line of whoever started the server."""
        user = await self._administrator()
        request = CreateTokenRequest(kind="api", name="this machine", ttl_ms=API_TOKEN_MS)
        return (await self._wired().tokens.issue(user.user_id, request)).secret

    async def registration_token(self, uses: int) -> str:
        """Return a token with which so many runners may join the hosted pool soon."""
        user = await self._administrator()
        request = CreateTokenRequest(name="embedded runners", pool=HOSTED_POOL, uses=uses, ttl_ms=_EMBEDDED_MS)
        return (await self._wired().tokens.issue(user.user_id, request)).secret

    async def _administrator(self) -> Identity:
        user_id, now = self._effects.ids.new("usr"), self._effects.clock.now()
        return await self._wired().database.run(sign_in.ensure_user, user_id, _ADMINISTRATOR, "owner", now)

    def _wired(self) -> Control:
        if self._control is None:
            raise RuntimeError("the program does not run yet")
        return self._control


def _calm_the_collector() -> None:
    """Have Python look for lost cycles seldom, and never again among what lives as long as the process.

    A held poll is some dozens of objects. Looking at those of 10,000 runners stops the process for most of a second,
    and as Python sets it, that happens whenever a quarter more have come.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
