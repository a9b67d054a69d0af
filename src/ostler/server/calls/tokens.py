"""Tokens and sign-in, for people's clients."""

from typing import Final

from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.fleet_messages import (
    CreateTokenReply,
    CreateTokenRequest,
    Identity,
    LoginRequest,
    TokensReply,
)
from ostler.protocol.v1.simple_table import SIMPLE_CREATE_RUNNER
from ostler.protocol.v1.table import CREATE_TOKEN, LIST_TOKENS, LOGIN, REVOKE_TOKEN, WHO_AM_I
from ostler.server.call import Call, Handlers, accepted
from ostler.store import sign_in, tokens
from ostler.store.database import Database
from ostler.store.tokens import NewToken

API_TOKEN_MS: Final = 90 * 86_400_000
_PREFIXES = {"registration": "ostr_", "api": "osta_"}


class TokenCalls:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            CREATE_TOKEN: self.create,
            SIMPLE_CREATE_RUNNER: self.create_registration,
            LIST_TOKENS: self.list_tokens,
            REVOKE_TOKEN: self.revoke,
            LOGIN: self.login,
            WHO_AM_I: self.who_am_i,
        }

    async def create(self, call: Call[CreateTokenRequest]) -> CreateTokenReply:
        """Make a token of the caller."""
        return await self.issue(call.user.user_id, call.body)

    async def create_registration(self, call: Call[CreateTokenRequest]) -> CreateTokenReply:
        """Make a registration token, whatever kind was asked for: these clients know no other."""
        body = call.body
        request = CreateTokenRequest(name=body.name, pool=body.pool, uses=body.uses, ttl_ms=body.ttl_ms)
        return await self.issue(call.user.user_id, request)

    async def issue(self, user_id: str, request: CreateTokenRequest) -> CreateTokenReply:
        """Draw a secret, store its hash, and return the secret this once."""
        secret = _PREFIXES[request.kind] + self._effects.random.token()
        token = NewToken(id=self._effects.ids.new("tok"), secret=secret, user_id=user_id)
        view = accepted(await self._database.run(tokens.create, token, request, self._effects.clock.now()))
        return CreateTokenReply(view, secret)

    async def list_tokens(self, call: Call[Nothing]) -> TokensReply:
        """All tokens that still count."""
        del call
        return TokensReply(await self._database.read(tokens.list_valid, self._effects.clock.now()))

    async def revoke(self, call: Call[Nothing]) -> None:
        """Revoke a token, on every replica at once."""
        accepted(await self._database.run(tokens.revoke, call.path["token_id"], self._effects.clock.now()))
        self._database.hint("credentials")

    async def login(self, call: Call[LoginRequest]) -> CreateTokenReply:
        """Exchange a one-time code for an API token."""
        user = accepted(await self._database.run(sign_in.use_code, call.body.code, self._effects.clock.now()))
        return await self.issue(user.user_id, CreateTokenRequest(kind="api", name="command line", ttl_ms=API_TOKEN_MS))

    async def who_am_i(self, call: Call[Nothing]) -> Identity:
        """Who the caller is."""
        return Identity(call.user.user_id, call.user.name, call.user.role)
