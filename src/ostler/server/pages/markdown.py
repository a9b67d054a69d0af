"""Markdown of jobs as HTML that a page may hold: no markup, no image and no link of theirs but plain http(s) ones.

Summaries are written by whatever runs in a job, so they are as hostile as a log (threat 28): raw HTML is shown as the
text that it is, an image as a link to it, because loading it would tell its owner who reads the page.
"""

from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import escape

LONGEST: Final = 512 * 1024
"""A longer summary is cut: its reader would not come to the end."""

_CUT = "\n\n*The rest of this summary is not shown.*\n"


class _Renderer(RendererHTML):
    """Draws what is allowed and writes out what is not."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A link to the image, named by what it shows."""
        token = tokens[idx]
        label = self.renderInlineAsText(token.children or [], options, env) or "image"
        return f'<a href="{escape(token.attrGet("src") or "")}" rel="noopener noreferrer">{escape(label)}</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A link that tells the place it leads to nothing of this page."""
        tokens[idx].attrSet("rel", "noopener noreferrer")
        return self.renderToken(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A cell, aligned by a class: the security policy of the pages forbids styles in attributes."""
        style = str(tokens[idx].attrs.pop("style", ""))
        if style.endswith(":right"):
            tokens[idx].attrSet("class", "number")
        return self.renderToken(tokens, idx, options, env)

    th_open = td_open


def _reader() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough"])
    made.validateLink = _harmless
    return made


def _harmless(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://", "#"))


_READER: Final = _reader()


def to_html(text: str) -> str:
    """Return a summary as HTML."""
    shown = text if len(text) <= LONGEST else text[:LONGEST] + _CUT
    return _READER.render(shown)
