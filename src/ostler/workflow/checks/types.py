"""What is known of the value of an expression before it is evaluated."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from ostler.workflow.language.contexts import Property


class Any(NamedTuple):
    """Nothing is known."""


class Single(NamedTuple):
    """A single value of one sort. ``choices`` are all the texts that it can be, ``begins`` is how each begins."""

    sort: str
    choices: tuple[str, ...] = ()
    begins: str = ""


class Structure(NamedTuple):
    """An object. Keys are in small letters; ``others`` is what further keys hold, None if there are none."""

    noun: str
    keys: Mapping[str, "tuple[str, Type]"]
    others: "Type | None" = None
    fix: str = ""
    """What to do about a key that is not there, if it is no slip of the finger."""
    optional: bool = False
    """Whether people ask for keys that may not be there, as in ``matrix.os || 'ubuntu-latest'``."""


class Listing(NamedTuple):
    """A list. ``filtered`` says that it comes from ``.*``, so that a property is taken of each item."""

    item: "Type"
    filtered: bool = False


Type: TypeAlias = Any | Single | Structure | Listing

ANY: Final = Any()
TEXT: Final = Single("text")
NUMBER: Final = Single("number")
FLAG: Final = Single("flag")
NOTHING: Final = Single("null")
TEXTS: Final = Structure("an object of texts", {}, TEXT)
OBJECT: Final = Structure("an object", {}, ANY)


def structure(
    noun: str, entries: Mapping[str, Type], others: Type | None = None, *, fix: str = "", optional: bool = False
) -> Structure:
    """Return an object with these keys."""
    return Structure(noun, {name.lower(): (name, each) for name, each in entries.items()}, others, fix, optional)


def described(properties: Mapping[str, Property]) -> dict[str, Type]:
    """Return the types of documented properties."""
    return {
        name: OBJECT if known.sort == "object" else Single(known.sort, known.choices)
        for name, known in properties.items()
    }
