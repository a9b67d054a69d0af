"""The metadata of an action as a typed tree, every template as it was written."""

from typing import Literal, TypeAlias

import msgspec

from ostler.protocol.v1.program import Scalar, Step


class ActionInput(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One input. ``default`` is a template."""

    required: bool = False
    default: str | None = None
    description: str = ""
    deprecation_message: str = ""


class ActionOutput(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One output; only composite actions say its ``value``, a template over ``steps``."""

    value: str = ""
    description: str = ""


class CompositeRuns(msgspec.Struct, frozen=True, kw_only=True, tag="composite", tag_field="kind"):
    """Steps of its own."""

    steps: list[Step]


class NodeRuns(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="node", tag_field="kind"):
    """Scripts that Node runs. Missing conditions of ``pre`` and ``post`` mean ``always()``."""

    using: str
    main: str
    pre: str = ""
    pre_if: str = ""
    post: str = ""
    post_if: str = ""


class DockerRuns(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="docker", tag_field="kind"):
    """A container, of an image or of a file that builds one."""

    image: str
    entrypoint: str = ""
    args: list[str] = []
    env: dict[str, Scalar] = {}
    pre_entrypoint: str = ""
    pre_if: str = ""
    post_entrypoint: str = ""
    post_if: str = ""


Runs: TypeAlias = CompositeRuns | NodeRuns | DockerRuns
ActionKind: TypeAlias = Literal["composite", "node", "docker"]


class Action(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One ``action.yml``."""

    path: str
    name: str
    description: str = ""
    author: str = ""
    inputs: dict[str, ActionInput] = {}
    outputs: dict[str, ActionOutput] = {}
    runs: Runs
