"""Who is calling: runners by short-lived access tokens, jobs by theirs, people by API tokens and sessions.

A proven credential is remembered for a short while, so that a busy runner costs two dictionary look-ups. Anything
that changes a runner, a token or a session is hinted and forgets what was remembered, and what was being read at that
moment is not remembered at all; that is how a revocation takes effect at once on every replica. Of jobs nothing is
remembered: a job may end at any moment, and asks for little.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from sqlalchemy import Connection

from ostler.domain.ids import RunnerId, UserId
from ostler.domain.runner import Admission
from ostler.effects import Effects
from ostler.protocol.endpoint import Auth
from ostler.protocol.problem import problem
from ostler.protocol.v1.fleet_messages import Identity
from ostler.server.call import Caller, JobCaller, Nobody, Refusal, RunnerCaller, UserCaller
from ostler.server.hub import Hub
from ostler.server.job_tokens import JobTokens
from ostler.server.keys import MasterKey
from ostler.server.metrics import Metrics
from ostler.store import enrolment, job_scopes, sign_in, tokens
from ostler.store.database import Database

SESSION_COOKIE: Final = "ostler_session"
ACCESS_TOKEN_SECONDS: Final = 900

_ISSUER = "ostler"
_ALGORITHM = "HS256"
_SECOND = 1_000_000
_REMEMBERED = 50_000
_REMEMBER_SECONDS = 30
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNREADABLE: Final = (JoseError, ValueError, TypeError, RecursionError)
"""What the library raises at a token that is none; some forms of nonsense it meets in its own code."""
OPERATORS: Final = frozenset({"owner", "admin", "operator"})


T = TypeVar("T")

_Identify = Callable[[Connection, str, int], Identity | None]


class _Known(NamedTuple):
    caller: UserCaller
    until: int


class _Proven(NamedTuple):
    """A signature that was checked: that does not change any more, so it is remembered until the token expires."""

    caller: RunnerCaller
    until: int


class Authentication:
    """Turns the headers of a request into a caller, or refuses."""

    def __init__(self, database: Database, key: MasterKey, hub: Hub, effects: Effects, metrics: Metrics) -> None:
        self._database = database
        self._key = OctKey.import_key(key.derive("access-token"))
        self._job_tokens = JobTokens(key)
        self._effects = effects
        self._metrics = metrics
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._proven: OrderedDict[str, _Proven] = OrderedDict()
        self._admitted: OrderedDict[str, int] = OrderedDict()
        self._changes = 0
        hub.listen(self._forget)

    async def caller(self, auth: Auth, method: str, headers: dict[str, str]) -> Caller:
        """Return the caller that an endpoint of this kind admits."""
        if auth is Auth.NONE:
            return Nobody()
        if auth is Auth.JOB:
            return await self._job(_bearer(headers))
        await self._keep_jobs_out(_bearer(headers))
        if auth is Auth.RUNNER:
            return await self._runner(_bearer(headers))
        user = await self.person(method, headers)
        if user is None:
            raise self._refusal("user", "unauthenticated", "no API token and no session")
        if auth is Auth.OPERATOR and user.role not in OPERATORS:
            raise Refusal(problem("forbidden", f"this needs the role operator; {user.name} is {user.role}"))
        return user

    async def person(self, method: str, headers: dict[str, str]) -> UserCaller | None:
        """Return the person behind an API token or a session cookie, if there is one."""
        bearer = _bearer(headers)
        if bearer:
            found = await self._remembered(f"token:{bearer}", tokens.identify, bearer)
            if found is None:
                raise self._refusal("user", "unauthenticated", "the API token is unknown, expired or revoked")
            return found
        session = cookie(headers.get("cookie", ""), SESSION_COOKIE)
        if not session:
            return None
        if method not in _SAFE_METHODS and not same_origin(headers):
            raise Refusal(problem("csrf_refused", "the request comes from another site"))
        return await self._remembered(f"session:{session}", _session_identity, session)

    def issue(self, runner_id: RunnerId) -> str:
        """Return a new access token of a runner."""
        now = self._effects.clock.now() // _SECOND
        claims = {
            "iss": _ISSUER,
            "sub": runner_id,
            "iat": now,
            "exp": now + ACCESS_TOKEN_SECONDS,
        }
        return jwt.encode({"alg": _ALGORITHM}, claims, self._key)

    def issue_to_job(self, run_id: str, job_id: str, fence: int) -> str:
        """Return the token of an attempt that was given its start grant."""
        return self._job_tokens.issue(run_id, job_id, fence)

    async def admit(self, runner_id: str) -> None:
        """Refuse a runner that has no valid key any more or that people revoked."""
        now = self._effects.clock.now()
        if now < self._admitted.get(runner_id, 0):
            return
        changes = self._changes
        keys = await self._database.read(enrolment.keys, runner_id)
        if keys is None or keys.admission is Admission.REVOKED:
            raise self._refusal("runner", "runner_revoked", "this runner was revoked or removed")
        if changes == self._changes:
            _remember(self._admitted, runner_id, now + _REMEMBER_SECONDS * _SECOND)

    async def _job(self, bearer: str) -> JobCaller:
        claims = self._job_tokens.read(bearer)
        if claims is None:
            raise self._refusal("job", "unauthenticated", "this takes the token of a job")
        scope = await self._database.read(job_scopes.find, claims.sub, claims.fence)
        if scope is None or scope.run_id != claims.run:
            raise self._refusal("job", "unauthenticated", "the attempt that this token was for has ended")
        return JobCaller(scope)

    async def _keep_jobs_out(self, bearer: str) -> None:
        """Say to a job that it may not call this; one that has ended hears that its token is worth nothing."""
        if self._job_tokens.read(bearer) is not None:
            await self._job(bearer)
            raise self._refusal("job", "forbidden", "the token of a job opens nothing but /job/v1")

    async def _runner(self, bearer: str) -> RunnerCaller:
        now = self._effects.clock.now()
        proven = self._proven.get(bearer)
        if proven is None or now >= proven.until:
            proven = self._verified(bearer, now)
            _remember(self._proven, bearer, proven)
        await self.admit(proven.caller.runner_id)
        return proven.caller

    def _verified(self, bearer: str, now: int) -> _Proven:
        if not bearer:
            raise self._refusal("runner", "unauthenticated", "no access token")
        try:
            claims = jwt.decode(bearer, self._key, algorithms=[_ALGORITHM]).claims
        except UNREADABLE as error:
            raise self._refusal("runner", "unauthenticated", "the access token is not one of this server") from error
        expires = claims.get("exp")
        if not isinstance(expires, int) or claims.get("iss") != _ISSUER:
            raise self._refusal("runner", "unauthenticated", "the access token is not one of this server")
        if now >= expires * _SECOND:
            raise self._refusal("runner", "token_expired", "")
        return _Proven(RunnerCaller(RunnerId(str(claims["sub"]))), expires * _SECOND)

    async def _remembered(self, key: str, identify: _Identify, secret: str) -> UserCaller | None:
        now = self._effects.clock.now()
        known = self._known.get(key)
        if known is not None and now < known.until:
            return known.caller
        changes = self._changes
        user = await self._database.read(identify, secret, now)
        if user is None:
            self._metrics.authentication_failures.labels("user").inc()
            return None
        caller = UserCaller(UserId(user.user_id), user.name, user.role)
        if changes == self._changes:
            _remember(self._known, key, _Known(caller, now + _REMEMBER_SECONDS * _SECOND))
        return caller

    def _forget(self, topic: str) -> None:
        kind, _, identity = topic.partition(":")
        if kind == "runner":
            self._changes += 1
            self._admitted.pop(identity, None)
        elif kind in ("credentials", "*"):
            self._changes += 1
            self._known.clear()
            self._admitted.clear()

    def _refusal(self, kind: str, code: str, detail: str) -> Refusal:
        self._metrics.authentication_failures.labels(kind).inc()
        return Refusal(problem(code, detail))


def _remember(memory: OrderedDict[str, T], key: str, value: T) -> None:
    memory[key] = value
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


def _session_identity(connection: Connection, secret: str, now: int) -> Identity | None:
    found = sign_in.session(connection, secret, now)
    return None if found is None else found.identity


def _bearer(headers: dict[str, str]) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    return credentials.strip() if scheme.lower() == "bearer" else ""


def cookie(header: str, name: str) -> str:
    """Return a cookie's value, or nothing."""
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""


def same_origin(headers: dict[str, str]) -> bool:
    """Whether a request that changes something comes from a page of this site."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin", "")
    return bool(origin) and origin.partition("://")[2] == headers.get("host", "")
