"""The job of a workflow as it travels to the runner: its steps with their expressions, and what the contexts hold.

What stands in the file is passed on as it was written; the runner evaluates it, because only there is known what the
earlier steps did. Whatever may hold ``${{ }}`` is a template: text is rendered, other values stay what they are.
"""

from typing import Annotated, TypeAlias

import msgspec

Scalar: TypeAlias = bool | float | str | None
Raw: TypeAlias = Annotated[object, msgspec.Meta(extra_json_schema={"description": "Any JSON value."})]
"""A value of a workflow file, in which every text may be a template, or of a context."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One item of ``steps``: exactly one of ``run``, ``uses``, ``wait``, ``wait_all``, ``cancel`` and ``parallel``."""

    id: str = ""
    name: str = ""
    if_: str = msgspec.field(default="", name="if")
    """The condition with or without ``${{ }}``; nothing means ``success()``."""
    env: dict[str, Scalar] | str = {}
    """A mapping, or one template that yields a mapping."""
    run: str | None = None
    shell: str = ""
    working_directory: str = ""
    uses: str | None = None
    with_: dict[str, Scalar] | str = msgspec.field(default={}, name="with")
    continue_on_error: bool | str = False
    timeout_minutes: float | str | None = None
    background: bool | str = False
    wait: list[str] | None = None
    wait_all: bool = False
    cancel: str | None = None
    parallel: "list[Step] | None" = None
    line: int = 0
    """Where it stands in its file; 0 where it stands in none."""


class Defaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """``defaults.run``; may hold templates."""

    shell: str = ""
    working_directory: str = ""


class Container(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``container`` or one of ``services``; every text may be a template."""

    image: str
    env: dict[str, Scalar] = {}
    ports: list[str] = []
    volumes: list[str] = []
    options: str = ""
    username: str = ""
    password: str = ""
    entrypoint: str = ""
    command: str = ""


class NeededJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the ``needs`` context holds of one job."""

    result: str
    outputs: dict[str, str] = {}


class JobProgram(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that the steps of one job can see. Secrets travel in ``JobSpec.secrets``, by their own names."""

    job_id: str
    """The key below ``jobs``."""
    steps: list[Step]
    env: list[dict[str, Scalar] | str] = []
    """The workflow's, then the job's; later ones win and see the earlier ones."""
    defaults: Defaults = Defaults()
    outputs: dict[str, str] = {}
    container: Container | str | None = None
    """As written, or a template that yields an image or the whole."""
    services: dict[str, Container] | str = {}
    github: dict[str, Raw] = {}
    inputs: dict[str, Raw] = {}
    vars: dict[str, str] = {}
    matrix: dict[str, Raw] | None = None
    strategy: dict[str, Raw] = {}
    needs: dict[str, NeededJob] = {}
    debug: bool = False
    clone_url: str = ""
    """Where checkout fetches the repository from; nothing means ``github.server_url`` and ``github.repository``."""
    environment_url: str = ""
    """``environment.url``, a template that is evaluated when the steps are over."""
    cancel_timeout_ms: int = 300_000
    """How long steps that run in spite of a cancellation may go on."""
    actions: dict[str, str] = {}
    """For each ``owner/repo[/path]@ref`` that is pinned: the digest that its content must have."""
    real_actions: list[str] = []
    """Actions with a built-in version, such as ``actions/checkout``, that are to be fetched all the same."""
