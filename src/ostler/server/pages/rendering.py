"""Turns views into HTML: the one Jinja environment, strict about names, escaping everything, and its filters.

The environment is built once by the server's wiring. Templates hold no logic beyond loops and choices, because the
views that they draw are complete.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import jinja2
from markupsafe import Markup, escape
from msgspec import Struct

from ostler.server.pages.views import PageFrame

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def duration(milliseconds: int | None) -> str:
    """``72_400`` as ``1m 12s``; below ten seconds with tenths, so that fast steps can be compared."""
    if milliseconds is None:
        return ""
    if milliseconds < _SECOND:
        return f"{milliseconds}ms"
    if milliseconds < 10 * _SECOND:
        return f"{milliseconds / _SECOND:.1f}s"
    if milliseconds < _MINUTE:
        return f"{milliseconds // _SECOND}s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE}m {milliseconds % _MINUTE // _SECOND}s"
    if milliseconds < _DAY:
        return f"{milliseconds // _HOUR}h {milliseconds % _HOUR // _MINUTE}m"
    return f"{milliseconds // _DAY}d {milliseconds % _DAY // _HOUR}h"


def iso(micros: int) -> str:
    """A time as machines read it."""
    return _moment(micros).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc(micros: int) -> str:
    """A time as people read it, where no script makes it relative."""
    return _moment(micros).strftime("%Y-%m-%d %H:%M UTC")


def count(number: int) -> str:
    """``1000000`` as ``1,000,000``."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """``1 runner``, ``2 runners``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def prose(text: str) -> Markup:
    """A sentence of the control plane as a page shows it: a capital, a full stop, and names in backticks as code."""
    ended = text if not text or text.endswith((".", "!", "?")) else f"{text}."
    begun = ended[:1].upper() + ended[1:]
    parts = begun.split("`")
    if len(parts) % 2 == 0:
        return escape(begun)
    return Markup().join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def environment(static: str = "/static") -> jinja2.Environment:
    """The templates of the package, ready to draw; ``static`` is where they find scripts and styles."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("ostler.server", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Callable[..., str]] = {
        "duration": duration,
        "iso": iso,
        "utc": utc,
        "count": count,
        "plural": plural,
        "prose": prose,
    }
    for name, function in filters.items():
        made.filters[name] = function
    made.globals.update({"static": static})  # pyright: ignore[reportCallIssue, reportArgumentType] - typed too narrowly
    return made


class Renderer:
    """Draws a template by name."""

    def __init__(self, templates: jinja2.Environment) -> None:
        self._templates = templates

    def page(self, name: str, page: PageFrame, view: Struct) -> str:
        """A whole page: ``name`` without its ending, as in ``runs``."""
        return self._templates.get_template(f"{name}.html").render(page=page, view=view)

    def fragment(self, name: str, page: PageFrame, view: Struct) -> str:
        """The part of a page that is fetched anew when something changed."""
        return self._templates.get_template(f"fragments/{name}.html").render(page=page, view=view)


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)
