"""How a runner becomes one: a registration token for an identity, a signed assertion for an access token."""

import base64

import msgspec
from joserfc import jwt
from joserfc.jwk import OKPKey

from ostler.domain.ids import RunnerId
from ostler.domain.runner import Admission
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.runner_messages import AUDIENCE, EnrolReply, EnrolRequest, TokenReply, TokenRequest
from ostler.protocol.v1.simple_table import SIMPLE_REGISTER
from ostler.protocol.v1.table import ACCESS_TOKEN, ENROL
from ostler.server.authentication import ACCESS_TOKEN_SECONDS, UNREADABLE, Authentication
from ostler.server.call import Call, Handlers, Refusal, accepted
from ostler.server.metrics import Metrics
from ostler.store import enrolment
from ostler.store.database import Database

_ALGORITHMS = ["Ed25519"]
_SECOND = 1_000_000
_SKEW_SECONDS = 60
_LONGEST_LIFE_SECONDS = 300
_KEY_BYTES = 32
_JWT_PARTS = 3
_LONGEST_JTI = 128


class EnrolmentCalls:
    """See the module."""

    def __init__(self, database: Database, authentication: Authentication, effects: Effects, metrics: Metrics) -> None:
        self._database = database
        self._authentication = authentication
        self._effects = effects
        self._metrics = metrics

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {ENROL: self.enrol, SIMPLE_REGISTER: self.enrol, ACCESS_TOKEN: self.access_token}

    async def enrol(self, call: Call[EnrolRequest]) -> EnrolReply:
        """Turn a registration token and a public key into a runner."""
        if not _is_public_key(call.body.public_key):
            raise Refusal(problem("value_refused", "public_key is not a raw Ed25519 key in base64url"))
        runner_id = self._effects.ids.new("rnr")
        outcome = await self._database.run(enrolment.enrol, call.body, runner_id, self._effects.clock.now())
        if not isinstance(outcome, EnrolReply):
            self._metrics.authentication_failures.labels("registration").inc()
        return accepted(outcome)

    async def access_token(self, call: Call[TokenRequest]) -> TokenReply:
        """Check everything about an assertion and give a short-lived token for it."""
        now = self._effects.clock.now()
        runner_id = _unverified_subject(call.body.assertion)
        keys = await self._database.read(enrolment.keys, runner_id)
        if keys is None:
            raise self._refused("no such runner, or its keys were revoked")
        if keys.admission is Admission.REVOKED:
            raise Refusal(problem("runner_revoked"))
        claims = self._verified(call.body.assertion, keys.public_keys)
        jti, expires = self._checked(claims, runner_id, now)
        if not await self._database.run(enrolment.use_assertion, runner_id, jti, expires * _SECOND):
            raise self._refused("the assertion was presented before")
        token = self._authentication.issue(RunnerId(runner_id))
        return TokenReply(token, ACCESS_TOKEN_SECONDS * 1000)

    def _verified(self, assertion: str, public_keys: tuple[str, ...]) -> dict[str, object]:
        for public_key in public_keys:
            key = OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": public_key})
            try:
                return jwt.decode(assertion, key, algorithms=_ALGORITHMS).claims
            except UNREADABLE:
                continue
        raise self._refused("the signature is not of the runner's key")

    def _checked(self, claims: dict[str, object], runner_id: str, now: int) -> tuple[str, int]:
        audience = claims.get("aud")
        named: list[object] = list(audience) if isinstance(audience, list) else [audience]  # pyright: ignore[reportUnknownArgumentType]
        if claims.get("iss") != runner_id or AUDIENCE not in named:
            raise self._refused("issuer, subject or audience are not what they must be")
        expires, issued, jti = claims.get("exp"), claims.get("iat"), claims.get("jti")
        if not isinstance(expires, int) or not isinstance(issued, int) or not isinstance(jti, str):
            raise self._refused("exp, iat or jti is missing")
        if not 0 < len(jti) <= _LONGEST_JTI or not (jti.isascii() and jti.isprintable()):
            raise self._refused("jti is empty, longer than any id, or not of plain characters")
        seconds = now // _SECOND
        if expires + _SKEW_SECONDS < seconds or issued - _SKEW_SECONDS > seconds:
            raise self._refused(f"the runner's clock differs from the server's by {abs(issued - seconds)} s")
        if expires - issued > _LONGEST_LIFE_SECONDS:
            raise self._refused(f"an assertion lives at most {_LONGEST_LIFE_SECONDS} s")
        return jti, expires + _SKEW_SECONDS

    def _refused(self, detail: str) -> Refusal:
        self._metrics.authentication_failures.labels("runner").inc()
        return Refusal(problem("assertion_refused", detail))


def _is_public_key(text: str) -> bool:
    """Whether this is the one way to write such a key; the decoder would pass over what is no base64."""
    try:
        raw = base64.urlsafe_b64decode(text + "=")
    except ValueError:
        return False
    return len(raw) == _KEY_BYTES and base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text


class _Subject(msgspec.Struct, frozen=True):
    sub: str


def _unverified_subject(assertion: str) -> str:
    """Return who the assertion says it is from; nothing else of it is believed before its signature is checked."""
    parts = assertion.split(".")
    if len(parts) != _JWT_PARTS:
        return ""
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=_Subject).sub.replace("\0", "")
    except (ValueError, RecursionError):
        return ""
