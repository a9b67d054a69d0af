"""Whether the name of an artifact fits a pattern: the wildcards of shells, and braces."""

import re

_MOST_ALTERNATIVES = 1000


def matching(pattern: str, name: str) -> bool:
    """Return whether a name fits. Wildcards leave out names with a leading dot, as in shells; ``!`` negates."""
    negated = pattern.startswith("!")
    fits = any(_fits(each, name) for each in _alternatives(pattern.lstrip("!") if negated else pattern))
    return fits != negated


def _fits(pattern: str, name: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    expression = ""
    index = 0
    while index < len(pattern):
        character = pattern[index]
        end = pattern.find("]", index + 2) if character == "[" else -1
        if character == "*":
            expression += ".*?"
        elif character == "?":
            expression += "."
        elif end > 0:
            body = re.sub(r"([\\\[&~|])", r"\\\1", pattern[index + 1 : end])
            expression += f"[^{body[1:]}]" if body[:1] in "!^" else f"[{body}]"
            index = end
        else:
            expression += re.escape(character)
        index += 1
    try:
        return re.fullmatch(expression, name, re.DOTALL) is not None
    except re.error:
        return pattern == name


def _alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with braces stands for, such as ``{a,b}-x`` for ``a-x`` and ``b-x``."""
    found = [pattern]
    while any(split := [_split(each) for each in found]) and len(found) < _MOST_ALTERNATIVES:
        found = [part for each, parts in zip(found, split, strict=True) for part in (parts or [each])]
    return found


def _split(pattern: str) -> list[str]:
    braces = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if braces is None:
        return []
    return [pattern[: braces.start()] + each + pattern[braces.end() :] for each in braces[1].split(",")]
