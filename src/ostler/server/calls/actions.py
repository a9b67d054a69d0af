"""The store of actions: filled by operators, read by jobs that reach no other source."""

import re
from typing import Final

from ostler.blobs import Blobs
from ostler.blobs.errors import BlobTooLarge
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.problem import problem
from ostler.protocol.v1.action_messages import COMMIT_HEADER, DIGEST_HEADER, StoredAction, StoredActionsReply
from ostler.protocol.v1.action_table import (
    DELETE_ACTION,
    IMPORT_ACTION,
    LARGEST_ACTION,
    LIST_ACTIONS,
    READ_ACTION,
)
from ostler.server.body import BodyStream
from ostler.server.call import Call, Handlers, Refusal, Streaming, accepted
from ostler.server.downloads import Stored, download
from ostler.store import stored_actions
from ostler.store.database import Database
from ostler.store.stored_actions import NewAction

BLOB_PREFIX: Final = "actions"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_GZIP = b"\x1f\x8b"
_TAR = slice(257, 262)
_HEAD = 262


class ActionCalls:
    """See the module."""

    def __init__(self, database: Database, blobs: Blobs, effects: Effects) -> None:
        self._database = database
        self._blobs = blobs
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            READ_ACTION: self.read,
            LIST_ACTIONS: self.list_actions,
            IMPORT_ACTION: self.import_action,
            DELETE_ACTION: self.delete,
        }

    async def read(self, call: Call[Nothing]) -> Streaming:
        """Send a tree as it was imported."""
        owner, repository = call.path["owner"], call.path["repository"]
        tree = accepted(await self._database.read(stored_actions.find, owner, repository, call.query.ref))
        action = tree.action
        stored = Stored(tree.blob_key, action.size, action.digest, f"{action.repository}.tar")
        headers = {DIGEST_HEADER: action.digest, COMMIT_HEADER: action.commit}
        return await download(self._blobs, stored, call.headers, headers)

    async def list_actions(self, call: Call[Nothing]) -> StoredActionsReply:
        """List everything that is stored."""
        del call
        return StoredActionsReply(await self._database.read(stored_actions.list_all))

    async def import_action(self, call: Call[BodyStream]) -> StoredAction:
        """Store a tree."""
        owner, repository = call.path["owner"], call.path["repository"]
        if not (_NAME.fullmatch(owner) and _NAME.fullmatch(repository)):
            raise Refusal(problem("value_refused", "owner and repository hold letters, digits, _ . and - only"))
        action_id = self._effects.ids.new("act")
        key = f"{BLOB_PREFIX}/{action_id}/tree"
        try:
            stored = await self._blobs.put_stream(key, call.body, at_most=LARGEST_ACTION)
        except BlobTooLarge as error:
            raise Refusal(problem("body_too_large", f"an action has at most {LARGEST_ACTION} bytes")) from error
        action = NewAction(
            id=action_id,
            owner=owner,
            repository=repository,
            ref=call.query.ref,
            commit=call.query.commit,
            size=stored.size,
            sha256=stored.sha256,
            blob_key=key,
            created_by=call.user.name,
        )
        outcome = await self._put(action, replace=bool(call.query.replace))
        if isinstance(outcome, Refused) or outcome.id != action_id:
            await self._blobs.delete(key)
        return accepted(outcome)

    async def delete(self, call: Call[Nothing]) -> None:
        """Delete a tree."""
        accepted(await self._database.run(stored_actions.delete, call.path["action_id"]))

    async def _put(self, action: NewAction, *, replace: bool) -> StoredAction | Refused:
        head = await self._blobs.get_range(action.blob_key, 0, _HEAD)
        if not head.startswith(_GZIP) and head[_TAR] != b"ustar":
            return Refused("value_refused", "the body is no tar archive, neither plain nor compressed with gzip")
        return await self._database.run(stored_actions.put, action, self._effects.clock.now(), replace=replace)
