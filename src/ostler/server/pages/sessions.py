"""Signing in and out of the pages: a session is a secret in a cookie, of which the store has only the hash.

A form must carry the token that is derived from the session's secret, and must come from this site. A sign-in link is
only opened by following it; using it up takes a press of its button, so that a program that previews links cannot.
"""

import hmac
from base64 import urlsafe_b64encode
from typing import Final

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.fleet_messages import Identity
from ostler.server.authentication import SESSION_COOKIE, same_origin
from ostler.server.call import Refusal
from ostler.server.keys import MasterKey
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.views import SignInView
from ostler.store import sign_in, tokens
from ostler.store.database import Database

HOME: Final = "/runs"
SIGN_IN: Final = "/sign-in"

_DAY = 86_400_000_000
_LASTS = 14 * _DAY
_EXTENDED_BELOW = 7 * _DAY


class Sessions:
    """See the module."""

    def __init__(self, database: Database, key: MasterKey, effects: Effects, *, secure: bool) -> None:
        self._database = database
        self._key = key.derive("csrf")
        self._effects = effects
        self._secure = secure

    def form_token(self, session: str) -> str:
        """Return what every form of this session carries."""
        return urlsafe_b64encode(hmac.digest(self._key, session.encode(), "sha256")).decode().rstrip("=")

    def check_form(self, request: PageRequest) -> None:
        """Refuse a form that does not come from a page of this session."""
        given = request.form.get("csrf_token", "")
        if not hmac.compare_digest(given.encode(), self.form_token(request.session).encode()):
            raise Refusal(problem("csrf_refused", "its token is not that of your session"))

    async def renewed(self, request: PageRequest) -> str:
        """Let a session in use last longer; return the cookie that says so, or nothing if it lasts long enough."""
        now = self._effects.clock.now()
        session = await self._database.read(sign_in.session, request.session, now) if request.session else None
        if session is None or session.expires_at - now > _EXTENDED_BELOW:
            return ""
        await self._database.run(sign_in.extend_session, request.session, now, now + _LASTS)
        return self._cookie(request.session, _LASTS)

    async def page(self, request: PageRequest) -> Drawn | Moved:
        """The form that takes an access token."""
        following = _own_path(request.query.get("next", ""))
        return Moved(following) if request.signed_in else _drawn(SignInView(next=following))

    async def link(self, request: PageRequest) -> Drawn:
        """What a sign-in link shows: one button."""
        return _drawn(SignInView(next=HOME, code=request.values["code"]))

    async def enter(self, request: PageRequest) -> Drawn | Moved:
        """Begin a session for whoever has an access token or a code that was not used."""
        if not same_origin(request.headers):
            raise Refusal(problem("csrf_refused", "the request comes from another site"))
        following = _own_path(request.form.get("next", ""))
        identity = await self._identity(request)
        if identity is None:
            sentence = (
                "This link was used before, or it has expired. Ask for a new one, or use an access token."
                if request.form.get("code")
                else "This token is not valid. It may have expired or been revoked."
            )
            return _drawn(SignInView(next=following, problem=sentence), 401)
        secret, now = self._effects.random.token(), self._effects.clock.now()
        await self._database.run(sign_in.create_session, secret, identity.user_id, now, now + _LASTS)
        if request.session:
            await self._end(request.session)
        return Moved(following, self._cookie(secret, _LASTS))

    async def leave(self, request: PageRequest) -> Moved:
        """End the session, on every replica."""
        await self._end(request.session)
        return Moved(SIGN_IN, self._cookie("", 0))

    async def _identity(self, request: PageRequest) -> Identity | None:
        now = self._effects.clock.now()
        code = request.form.get("code", "")
        if code:
            found = await self._database.run(sign_in.use_code, code, now)
            return None if isinstance(found, Refused) else found
        return await self._database.read(tokens.identify, request.form.get("token", "").strip(), now)

    async def _end(self, session: str) -> None:
        await self._database.run(sign_in.end_session, session)
        self._database.hint("credentials")

    def _cookie(self, secret: str, lasts: int) -> str:
        secure = "; Secure" if self._secure else ""
        return f"{SESSION_COOKIE}={secret}; Path=/; Max-Age={lasts // 1_000_000}; HttpOnly; SameSite=Lax{secure}"


def _drawn(view: SignInView, status: int = 200) -> Drawn:
    return Drawn("sign_in", "Sign in", "", view, status)


def _own_path(path: str) -> str:
    """Return the path if it leads to this site, else the first page: another site is no place to be sent to."""
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if safe and path.isascii() else HOME
