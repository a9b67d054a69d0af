"""The calls about stored actions. The whole table is ``ostler.protocol.v1.table.ENDPOINTS``."""

from ostler.protocol.endpoint import MIB, Auth, Binary, Endpoint, Nothing
from ostler.protocol.v1 import action_messages as actions

LARGEST_ACTION = 512 * MIB

READ_ACTION = Endpoint(
    name="read_action",
    method="GET",
    path="/job/v1/actions/{owner}/{repository}",
    summary="Download the tree of an action as it was imported",
    request=Nothing,
    reply=Nothing,
    query=actions.ReadActionQuery,
    auth=Auth.JOB,
    stream="application/octet-stream",
    problems=("not_found",),
)
LIST_ACTIONS = Endpoint(
    name="list_actions",
    method="GET",
    path="/api/v1/actions",
    summary="List the actions that are stored here",
    request=Nothing,
    reply=actions.StoredActionsReply,
)
IMPORT_ACTION = Endpoint(
    name="import_action",
    method="PUT",
    path="/api/v1/actions/{owner}/{repository}",
    summary="Store the tree of an action, as a tar archive, under a ref",
    request=Binary,
    reply=actions.StoredAction,
    query=actions.ImportActionQuery,
    auth=Auth.OPERATOR,
    streamed=True,
    status=201,
    body_limit=LARGEST_ACTION,
    problems=("action_exists", "value_refused"),
)
DELETE_ACTION = Endpoint(
    name="delete_action",
    method="DELETE",
    path="/api/v1/actions/{action_id}",
    summary="Delete a stored action",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
