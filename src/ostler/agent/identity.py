"""Who this runner is: a key pair made here, an enrolment, and access tokens that renew themselves.

The private key never leaves the machine. A registration token (or an OIDC token) is used once, to enrol the public
key; from then on the runner proves itself with short signed assertions. The key and the enrolment's idempotency key
are on disk before the first request, so a lost reply neither wastes a use of the token nor makes a second runner.

When the server no longer accepts the identity, the configured token is read again: one that is new enrols a new
runner by itself. A revoked runner never returns with the token that it once used.
"""

import asyncio
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ostler.agent.delivery import LOST
from ostler.agent.disk import Disk
from ostler.agent.errors import EnrolmentRefused
from ostler.agent.logging import Log
from ostler.client.caller import Client
from ostler.client.dates import http_date
from ostler.client.errors import ProblemError
from ostler.client.transport import TransportError
from ostler.effects import Effects
from ostler.protocol.problem import Problem
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import AUDIENCE, EnrolRequest, SystemInfo, TokenReply, TokenRequest

PATH = "identity.json"
CANDIDATE_PATH = "identity.new.json"

_ASSERTION_SECONDS = 60
_SECOND = 1_000_000
_NOTEWORTHY_SKEW_SECONDS = 30


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the disk keeps. Without a ``runner_id`` the enrolment has not been answered yet."""

    private_key: str
    enrol_key: str
    token_digest: str
    runner_id: str = ""
    pool_id: str = ""
    pool_name: str = ""


class Applicant(msgspec.Struct, frozen=True):
    """What a runner says of itself when it enrols."""

    name: str
    description: str
    labels: list[str]
    version: str
    system: SystemInfo


class RunnerIdentity:
    """The runner's identity, and the ``Credentials`` of its client."""

    def __init__(
        self, disk: Disk, effects: Effects, log: Log, *, audience: str, applicant: Applicant, token: Callable[[], str]
    ) -> None:
        self._disk = disk
        self._effects = effects
        self._log = log
        self._audience = audience
        self._applicant = applicant
        self._token_source = token
        self._client: Client | None = None
        self._identity: Identity | None = None
        self._access_token = ""
        self._renew_at = 0.0
        self._expires_at = 0.0
        self._renewing = asyncio.Lock()
        self._skew_micros = 0
        self.failures = 0
        """How often the server refused to authenticate this runner."""

    def serve(self, client: Client) -> None:
        """Use this client for enrolment and tokens; it is the one whose credentials we are."""
        self._client = client

    @property
    def runner_id(self) -> str:
        """The id that the server gave; empty before enrolment."""
        return self._identity.runner_id if self._identity else ""

    @property
    def pool_name(self) -> str:
        """The pool that the runner belongs to."""
        return self._identity.pool_name if self._identity else ""

    # Enrolment.

    async def enrol(self, *, afresh: bool = False) -> None:
        """Become someone: who we were, unless ``afresh``. A refusal is a ``ProblemError``.

        The present identity stays in use until the new one is accepted.
        """
        identity = None if afresh else self._identity or self._load(PATH)
        if identity is None:
            token = self._token_source()
            if not token:
                raise EnrolmentRefused(
                    "this runner is not enrolled, and there is no token",
                    fix="Create one with `ostler token create --pool POOL`, then give it with --token or "
                    "OSTLER_AGENT_TOKEN, or write it to the file with `ostler agent configure --token TOKEN`.",
                )
            candidate = self._load(CANDIDATE_PATH)
            if candidate is None or candidate.token_digest != _digest(token):
                candidate = self._create(token, candidate)
            identity = await self._register(candidate, token)
            self._access_token = ""
        self._identity = identity

    def may_return(self, problem: Problem) -> bool:
        """Return whether the configured token may enrol us again after this refusal."""
        token = self._token_source()
        used = self._identity.token_digest if self._identity else ""
        return bool(token) and (problem.code != "runner_revoked" or _digest(token) != used)

    def _load(self, path: str) -> Identity | None:
        try:
            return msgspec.json.decode(self._disk.read(path), type=Identity)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            self._log.error("identity_unreadable", file=path, reason=str(error))
            return None

    def _create(self, token: str, unanswered: Identity | None) -> Identity:
        """Prepare an enrolment. One that was not answered is under way with its key pair and may arrive after this."""
        identity = Identity(
            private_key=unanswered.private_key if unanswered else _encoded(self._effects.random.randbytes(32)),
            enrol_key=self._effects.ids.new("enr"),
            token_digest=_digest(token),
        )
        self._disk.write(CANDIDATE_PATH, msgspec.json.encode(identity))
        return identity

    async def _register(self, identity: Identity, token: str) -> Identity:
        public = _key(identity).public_key().public_bytes_raw()
        applicant = self._applicant
        reply = await self._calls.call(
            table.ENROL,
            probe=True,
            request=EnrolRequest(
                registration_token=token,
                name=applicant.name,
                public_key=_encoded(public),
                key=identity.enrol_key,
                description=applicant.description,
                labels=applicant.labels,
                version=applicant.version,
                system=applicant.system,
            ),
        )
        enrolled = msgspec.structs.replace(
            identity, runner_id=reply.runner_id, pool_id=reply.pool_id, pool_name=reply.pool_name
        )
        self._disk.write(PATH, msgspec.json.encode(enrolled))
        self._disk.remove(CANDIDATE_PATH)
        self._log.info("runner_enrolled", runner_id=reply.runner_id, pool=reply.pool_name)
        return enrolled

    # Access tokens: the ``Credentials`` of the client.

    async def token(self) -> str:
        """Return an access token that is good for a while, renewing it early enough."""
        if self._effects.clock.monotonic() < self._renew_at and self._access_token:
            return self._access_token
        async with self._renewing:
            now = self._effects.clock.monotonic()
            if now < self._renew_at and self._access_token:
                return self._access_token
            try:
                await self._renew()
            except (TransportError, ProblemError) as error:
                if not self._access_token or now >= self._expires_at or _refusal(error):
                    raise
            return self._access_token

    async def refused(self, token: str, problem: Problem) -> bool:
        """Learn that an access token is not accepted, and say that another one may be."""
        self.failures += 1
        self._log.warning("access_token_refused", code=problem.code, failures=self.failures)
        if token == self._access_token:
            self._access_token = ""
        return self._identity is not None

    async def _renew(self) -> None:
        reply = None
        while reply is None:
            identity = self._identity
            if identity is None:
                raise RuntimeError("an access token was asked for before the enrolment")
            try:
                reply = await self._exchange(identity)
            except ProblemError as error:
                enrolled_again = self._identity is not identity
                if not enrolled_again and (error.code != "assertion_refused" or not self._learn_skew()):
                    raise
            else:
                reply = reply if self._identity is identity else None
        life = reply.expires_in_ms / 1000
        now = self._effects.clock.monotonic()
        self._access_token = reply.access_token
        self._expires_at = now + life
        self._renew_at = now + life * self._effects.random.uniform(0.6, 0.85)

    async def _exchange(self, identity: Identity) -> TokenReply:
        """Ask once: the call that needs the token repeats itself, and then with a fresh assertion."""
        request = TokenRequest(self._assertion(identity))
        return await self._calls.call(table.ACCESS_TOKEN, request=request, probe=True)

    def _assertion(self, identity: Identity) -> str:
        now = (self._effects.clock.now() + self._skew_micros) // _SECOND
        claims = {
            "iss": identity.runner_id,
            "sub": identity.runner_id,
            "aud": [AUDIENCE, self._audience],
            "iat": now,
            "exp": now + _ASSERTION_SECONDS,
            "jti": self._effects.ids.new("jti"),
        }
        signed = f"{_HEADER}.{_encoded(msgspec.json.encode(claims))}"
        return f"{signed}.{_encoded(_key(identity).sign(signed.encode()))}"

    def _learn_skew(self) -> bool:
        """Take the time from the server, whose clock is the one that judges; return whether that may help."""
        server = http_date(self._calls.server_date)
        if server is None:
            return False
        skew = server * _SECOND - self._effects.clock.now()
        changed = abs(skew - self._skew_micros) > _NOTEWORTHY_SKEW_SECONDS * _SECOND
        if changed:
            self._log.warning("clock_skew", seconds=skew // _SECOND)
            self._skew_micros = skew
        return changed

    @property
    def _calls(self) -> Client:
        if self._client is None:
            raise RuntimeError("the identity has no client")
        return self._client


def _refusal(error: Exception) -> bool:
    return isinstance(error, ProblemError) and error.code in LOST


def _key(identity: Identity) -> Ed25519PrivateKey:
    text = identity.private_key
    return Ed25519PrivateKey.from_private_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


_HEADER = _encoded(b'{"alg":"Ed25519","typ":"JWT"}')
