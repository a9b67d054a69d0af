"""Summaries are as hostile as logs: whatever they hold, the page gets text, tables and plain links."""

import re

import pytest
from hypothesis import given, strategies as st

from ostler.server.pages.markdown import LONGEST, to_html

TAGS = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
ALLOWED = re.compile("p|h[1-6]|[uo]l|li|table|thead|tbody|tr|t[hd]|pre|code|em|strong|s|a|blockquote|[hb]r")


def test_tables_and_lists_are_drawn() -> None:
    html = to_html("# Coverage\n\n| File | % |\n| --- | ---: |\n| a.py | 93 |\n\n- one\n- ~~two~~\n")
    assert "<h1>Coverage</h1>" in html
    assert '<td>a.py</td>\n<td class="number">93</td>' in html
    assert "style" not in html
    assert "<s>two</s>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,AAAA)",
        "![x](javascript:alert(1))",
        '<img src=x onerror="alert(1)">',
        '<https://example.org"onclick=alert(1)>',
        "[x](https://example.org 'a\" onmouseover=\"alert(1)')",
        "<svg/onload=alert(1)>",
    ],
)
def test_nothing_of_theirs_is_executed(text: str) -> None:
    _check(to_html(text))


@given(st.text(alphabet=st.sampled_from(list("<>\"'()[]!`*_#-|\\ \nax:/.&;=")), max_size=80))
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    _check(to_html(text))


def _check(html: str) -> None:
    for _, tag, attributes in TAGS.findall(html):
        assert ALLOWED.fullmatch(tag)
        assert not re.search(r"(^|\s)on[a-z]+=", re.sub(r'"[^"]*"', '""', attributes))
        for url in re.findall(r'(?:href|src)="([^"]*)"', attributes):
            assert url.startswith(("http://", "https://", "#"))


def test_an_image_is_a_link() -> None:
    html = to_html("![graph](https://example.org/a.png)")
    assert html == '<p><a href="https://example.org/a.png" rel="noopener noreferrer">graph</a></p>\n'


def test_what_is_too_long_is_cut() -> None:
    html = to_html("a" * (LONGEST + 10))
    assert "is not shown" in html
    assert len(html) < LONGEST + 200
