"""Patterns for names: every example of the documentation, what cannot be a pattern, and no pattern that is slow."""

import re
import string

import pytest
from hypothesis import given, strategies as st

from ostler.domain.machine import Refused
from ostler.workflow.patterns import LONGEST, Pattern, Patterns, compile_pattern, compile_patterns

# From the cheat sheet for filter patterns: pattern, names it stands for, names it does not.
_DOCUMENTED: list[tuple[str, list[str], list[str]]] = [
    ("feature/*", ["feature/my-branch", "feature/your-branch"], ["feature/a/b", "feature"]),
    ("feature/**", ["feature/beta-a/my-branch", "feature/your-branch", "feature/mona/the/octocat"], ["features/a"]),
    ("main", ["main"], ["Main", "mainly", "a/main"]),
    ("releases/mona-the-octocat", ["releases/mona-the-octocat"], ["releases/mona"]),
    ("*", ["main", "releases"], ["all/the/branches"]),
    ("**", ["main", "all/the/branches", "every/tag"], []),
    ("*feature", ["mona-feature", "feature", "ver-10-feature"], ["a/feature", "features"]),
    ("v2*", ["v2", "v2.0", "v2.9"], ["v1", "v2/x"]),
    ("v[12].[0-9]+.[0-9]+", ["v1.10.1", "v2.0.0"], ["v3.0.0", "v1.x.1", "v1.0.", "v1a0b0"]),
    ("[CB]at", ["Cat", "Bat"], ["Rat", "at"]),
    ("[1-2]00", ["100", "200"], ["300", "1-200"]),
    ("*.jsx?", ["page.js", "page.jsx"], ["page.jsxx", "a/page.js"]),
    ("*.js", ["app.js", "index.js"], ["js/index.js"]),
    ("**.js", ["index.js", "js/index.js", "src/js/app.js"], ["index.jsx"]),
    ("docs/*", ["docs/README.md", "docs/file.txt"], ["docs/a/b.md"]),
    ("docs/**", ["docs/README.md", "docs/mona/octocat.txt"], ["docs", "doc/x"]),
    ("docs/**/*.md", ["docs/README.md", "docs/mona/hello-world.md", "docs/a/markdown/file.md"], ["docs/a.txt"]),
    ("**/docs/**", ["docs/hello.md", "dir/docs/my-file.txt", "space/docs/plan/space.doc"], ["mydocs/a", "docs"]),
    ("**/README.md", ["README.md", "js/README.md"], ["js/OTHER.md", "MY-README.md", "js/MY-README.md"]),
    ("**/*src/**", ["a/src/app.js", "my-src/code/js/app.js"], ["src.js"]),
    ("**/*-post.md", ["my-post.md", "path/their-post.md"], ["post.md", "a/my-post.mdx"]),
    ("**/migrate-*.sql", ["migrate-10909.sql", "db/migrate-v1.0.sql", "db/sept/migrate-v1.sql"], ["migrate-a/b.sql"]),
    ("v1\\*", ["v1*"], ["v12", "v1\\*"]),
    ("what\\?", ["what?"], ["wha", "what"]),
    ("a?b+c", ["abc", "bbc"], ["ac", "aabc"]),
    ("[a-c]+", ["abc", "a"], ["", "abd"]),
    ("a[._-]b", ["a.b", "a-b", "a_b"], ["aab"]),
    ("release/!x", ["release/!x"], ["release/x"]),
]


@pytest.mark.parametrize(("text", "stands_for", "others"), _DOCUMENTED, ids=[row[0] for row in _DOCUMENTED])
def test_documented_examples(text: str, stands_for: list[str], others: list[str]) -> None:
    """A pattern stands for the names that the documentation gives, and for no others."""
    pattern = _compiled(text)
    assert [name for name in stands_for if not pattern.matches(name)] == []
    assert [name for name in others if pattern.matches(name)] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("!", "empty"),
        ("+a", "none"),
        ("*?", "none"),
        ("a++", "none"),
        ("a?+", "none"),
        ("[abc", "never closed"),
        ("[]", "set at 1 is empty"),
        ("[z-a]", "upwards"),
        ("[A-z]", "upwards"),
        ("a\\", "backslash"),
        ("a" * (LONGEST + 1), "at most"),
    ],
)
def test_malformed_patterns_say_why(text: str, why: str) -> None:
    """What cannot be a pattern is refused with its reason."""
    refusal = compile_pattern(text)
    assert isinstance(refusal, Refused)
    assert refusal.code == "pattern_malformed"
    assert why in refusal.reason


def test_the_last_pattern_decides() -> None:
    """An exclusion takes out, and a later pattern brings back."""
    patterns = _all("*.md", "!README.md", "README*")
    assert patterns.match("README.md")
    patterns = _all("releases/**", "!releases/**-alpha")
    assert patterns.match("releases/10")
    assert not patterns.match("releases/10-alpha")
    assert not patterns.match("main")


def test_exclusions_alone_are_refused() -> None:
    """A list of nothing but exclusions could never stand for anything."""
    refusal = compile_patterns(["!a", "!b"])
    assert isinstance(refusal, Refused)
    assert refusal.code == "patterns_only_exclude"


_LETTERS = st.sampled_from("ab/*")


@given(st.text(_LETTERS, min_size=1, max_size=8), st.text("ab/", max_size=8))
def test_stars_agree_with_a_regular_expression(text: str, name: str) -> None:
    """The positions say what a regular expression with the same meaning says."""
    expected = re.sub(
        r"(?:(?<=/)|^)\*\*+/|\*\*+|\*",
        lambda star: "(?:.*/)?" if star[0].endswith("/") else ".*" if len(star[0]) > 1 else "[^/]*",
        text,
    )
    assert _compiled(text).matches(name) is bool(re.fullmatch(expected, name))


@given(st.text(string.printable, max_size=40), st.text(max_size=40))
def test_nothing_crashes(text: str, name: str) -> None:
    """Whatever is written is a pattern or a refusal."""
    pattern = compile_pattern(text)
    if not isinstance(pattern, Refused):
        pattern.matches(name)


def test_no_pattern_is_slow() -> None:
    """A pattern that costs a backtracking matcher years takes as many steps as the name has characters."""
    pattern = _compiled("**a" * 300 + "b")
    assert not pattern.matches("a" * 4_000)


def _compiled(text: str) -> Pattern:
    pattern = compile_pattern(text)
    assert isinstance(pattern, Pattern)
    return pattern


def _all(*texts: str) -> Patterns:
    patterns = compile_patterns(texts)
    assert isinstance(patterns, Patterns)
    return patterns
