"""The calls about repositories and what belongs to them. The whole table is ``ostler.protocol.v1.table.ENDPOINTS``."""

from ostler.protocol.endpoint import Auth, Endpoint, Nothing
from ostler.protocol.v1 import repository_messages as repositories

LIST_REPOSITORIES = Endpoint(
    name="list_repositories",
    method="GET",
    path="/api/v1/repositories",
    summary="List repositories by name",
    request=Nothing,
    reply=repositories.RepositoriesReply,
)
CREATE_REPOSITORY = Endpoint(
    name="create_repository",
    method="POST",
    path="/api/v1/repositories",
    summary="Connect a repository",
    request=repositories.CreateRepositoryRequest,
    reply=repositories.RepositoryView,
    auth=Auth.OPERATOR,
    status=201,
    retryable=False,
    problems=("name_taken", "name_characters", "value_refused", "not_found"),
)
GET_REPOSITORY = Endpoint(
    name="get_repository",
    method="GET",
    path="/api/v1/repositories/{repository}",
    summary="Read a repository by its id or name",
    request=Nothing,
    reply=repositories.RepositoryView,
    problems=("not_found",),
)
UPDATE_REPOSITORY = Endpoint(
    name="update_repository",
    method="PATCH",
    path="/api/v1/repositories/{repository}",
    summary="Change a repository",
    request=repositories.UpdateRepositoryRequest,
    reply=repositories.RepositoryView,
    auth=Auth.OPERATOR,
    problems=("not_found", "value_refused"),
)
DELETE_REPOSITORY = Endpoint(
    name="delete_repository",
    method="DELETE",
    path="/api/v1/repositories/{repository}",
    summary="Disconnect a repository none of whose runs is open",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found", "repository_in_use"),
)
REPOSITORY_HOOK = Endpoint(
    name="repository_hook",
    method="GET",
    path="/api/v1/repositories/{repository}/hook",
    summary="Read the address and the secret of the webhook",
    request=Nothing,
    reply=repositories.HookReply,
    auth=Auth.OPERATOR,
    problems=("not_found",),
)
LIST_SECRETS = Endpoint(
    name="list_secrets",
    method="GET",
    path="/api/v1/repositories/{repository}/secrets",
    summary="List the names of a repository's secrets",
    request=Nothing,
    reply=repositories.ValuesReply,
    problems=("not_found",),
)
SET_SECRET = Endpoint(
    name="set_secret",
    method="PUT",
    path="/api/v1/repositories/{repository}/secrets/{name}",
    summary="Set a secret; nobody can read it back",
    request=repositories.SetValueRequest,
    reply=repositories.ValueView,
    auth=Auth.OPERATOR,
    problems=("not_found", "value_refused"),
)
DELETE_SECRET = Endpoint(
    name="delete_secret",
    method="DELETE",
    path="/api/v1/repositories/{repository}/secrets/{name}",
    summary="Delete a secret",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
LIST_VARIABLES = Endpoint(
    name="list_variables",
    method="GET",
    path="/api/v1/repositories/{repository}/variables",
    summary="List a repository's variables",
    request=Nothing,
    reply=repositories.ValuesReply,
    problems=("not_found",),
)
SET_VARIABLE = Endpoint(
    name="set_variable",
    method="PUT",
    path="/api/v1/repositories/{repository}/variables/{name}",
    summary="Set a variable",
    request=repositories.SetValueRequest,
    reply=repositories.ValueView,
    auth=Auth.OPERATOR,
    problems=("not_found", "value_refused"),
)
DELETE_VARIABLE = Endpoint(
    name="delete_variable",
    method="DELETE",
    path="/api/v1/repositories/{repository}/variables/{name}",
    summary="Delete a variable",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
