"""The messages about repositories, their secrets and variables, for people's clients."""

from typing import Annotated, Literal

import msgspec

from ostler.domain.repository import Forge

Address = Annotated[str, msgspec.Meta(max_length=1000)]
Short = Annotated[str, msgspec.Meta(max_length=250)]
SecretText = Annotated[str, msgspec.Meta(max_length=65_536)]


class RepositoryView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A repository; ``fault`` says why it could not be read the last time."""

    id: str
    name: str
    full_name: str
    clone_url: str
    default_branch: str
    workflows_path: str = ""
    forge: Forge = "git"
    forge_url: str = ""
    pool: str = ""
    username: str = ""
    has_password: bool = False
    has_forge_token: bool = False
    disabled: bool = False
    synced_at: int | None = None
    synced_sha: str = ""
    fault: str = ""
    created_at: int = 0


class RepositoriesReply(msgspec.Struct, frozen=True):
    """All repositories by name."""

    repositories: list[RepositoryView]


class CreateRepositoryRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A new repository. Without a default branch that of the remote is taken."""

    name: Annotated[str, msgspec.Meta(max_length=500)]
    clone_url: Address
    default_branch: Short = ""
    workflows_path: Short = ""
    forge: Forge = "git"
    forge_url: Address = ""
    pool: Short = ""
    username: Short = ""
    password: SecretText = ""
    forge_token: SecretText = ""
    webhook_secret: Annotated[str, msgspec.Meta(max_length=500)] = ""


class UpdateRepositoryRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Changes to a repository; what is absent stays, an empty text takes the value away."""

    clone_url: Address | None = None
    default_branch: Short | None = None
    workflows_path: Short | None = None
    forge: Forge | None = None
    forge_url: Address | None = None
    pool: Short | None = None
    username: Short | None = None
    password: SecretText | None = None
    forge_token: SecretText | None = None
    webhook_secret: Annotated[str, msgspec.Meta(max_length=500)] | None = None
    disabled: bool | None = None


class HookReply(msgspec.Struct, frozen=True):
    """What the forge is to be told so that it tells of its events: where, with which secret."""

    url: str
    secret: str
    forge: Forge


class ValueView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A variable with its value, or a secret without."""

    name: str
    updated_at: int
    value: str = ""


class ValuesReply(msgspec.Struct, frozen=True):
    """The variables or the secrets of a repository, by name."""

    values: list[ValueView]


class SetValueRequest(msgspec.Struct, frozen=True):
    """The value of a variable or a secret."""

    value: SecretText


class TriggerView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Something that happened to a repository, and what became of it."""

    id: str
    event: str
    source: str
    state: Literal["open", "done"]
    outcome: str = ""
    actor: str = ""
    created_at: int = 0


class TriggersReply(msgspec.Struct, frozen=True):
    """What happened last, newest first."""

    triggers: list[TriggerView]


class DeliveryReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was made of a webhook's delivery."""

    outcome: Literal["accepted", "repeated", "ignored"]
    detail: str = ""
    trigger_ids: list[str] = []
