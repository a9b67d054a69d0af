"""What a value may look like: the words in which the language is written down."""

from typing import TypeAlias

import msgspec

from ostler.workflow.language.scopes import NOWHERE, Scope


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A single value that is taken as text, whatever it looks like."""

    filled: bool = False
    choices: tuple[str, ...] = ()
    condition: bool = False
    """Whether it is an expression with or without ``${{ }}``."""
    scope: Scope = NOWHERE


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """True or false."""

    scope: Scope = NOWHERE


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number, of at least ``least``."""

    least: float | None = None
    scope: Scope = NOWHERE


class Null(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing."""

    scope: Scope = NOWHERE


class Anything(msgspec.Struct, frozen=True, kw_only=True):
    """Any value; expressions within it know what its place knows."""

    scope: Scope = NOWHERE


class ListOf(msgspec.Struct, frozen=True, kw_only=True):
    """A list."""

    item: "Shape"
    filled: bool = False
    scope: Scope = NOWHERE


class Key(msgspec.Struct, frozen=True):
    """One key of a table: what stands below it, and what it says to people."""

    shape: "Shape"
    doc: str = ""
    required: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping. ``noun`` names it in messages; ``others`` is the shape below keys that people choose themselves.

    ``idle`` are keys that mean something in tables of its kind, but nothing in this one: they are told of and let pass.
    """

    noun: str
    keys: dict[str, Key] = {}
    others: "Shape | None" = None
    idle: tuple[str, ...] = ()
    filled: bool = False
    scope: Scope = NOWHERE


class Variant(msgspec.Struct, frozen=True):
    """A table that is meant where a key stands."""

    key: str
    table: Table


class Variants(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping of one of several kinds. The first variant whose key is there is meant; no two may be.

    Where none is, ``otherwise`` is meant, or it is a mistake.
    """

    noun: str
    variants: tuple[Variant, ...]
    otherwise: Table | None = None
    scope: Scope = NOWHERE


class Either(msgspec.Struct, frozen=True, kw_only=True):
    """One of several shapes, which differ by the kind of their values."""

    shapes: tuple["Shape", ...]
    scope: Scope = NOWHERE


Shape: TypeAlias = Text | Flag | Number | Null | Anything | ListOf | Table | Variants | Either


def either(*shapes: Shape, scope: Scope = NOWHERE) -> Either:
    """Return the shape of a value that is one of several."""
    return Either(shapes=shapes, scope=scope)


def optional(table: Table) -> Either:
    """Return the shape of a table that may be left empty."""
    return Either(shapes=(Null(), table))


TEXT = Text()
FILLED = Text(filled=True)
FILLED_OR_LIST = either(FILLED, ListOf(item=FILLED))
SCALAR = either(Text(), Flag(), Number())
"""A single value that keeps its type."""
