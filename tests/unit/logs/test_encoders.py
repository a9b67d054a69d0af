"""What the standard library's own encoders make of a secret must be among its forms."""

from __future__ import annotations

import base64
import html
import json
import shlex
from urllib.parse import quote, quote_plus
from xml.sax import saxutils

import pytest
from hypothesis import given, settings, strategies as st

from ostler.logs.encoders import SHORTEST_SECRET, forms
from ostler.logs.masker import Masker

TEXTS = st.text(st.characters(codec="utf-8"), min_size=4, max_size=30).filter(
    lambda text: len(text.encode().strip()) >= SHORTEST_SECRET and text.encode().strip() == text.encode()
)


def masked(secret: bytes, output: bytes) -> bytes:
    masker = Masker([secret])
    return masker.feed(output) + masker.finish()


@given(secret=st.binary(min_size=4, max_size=40), before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_base64_at_every_shift_in_both_alphabets(secret: bytes, before: bytes, after: bytes) -> None:
    core = secret.strip()
    if len(core) < SHORTEST_SECRET:
        return
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + core + after)
        shown = masked(secret, encoded)
        assert b"***" in shown
        # At most one character at each edge mixes bits of the secret with bits of its neighbours.
        around = len(encode(before).rstrip(b"=")) + len(encode(after).rstrip(b"=")) + 6
        assert len(shown.replace(b"***", b"")) <= around


@settings(max_examples=60)
@given(text=TEXTS)
def test_encodings_of_text(text: str) -> None:
    secret = text.encode()
    found = forms(secret)
    made = {
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        quote(text, safe="").encode(),
        quote(text).encode(),
        quote_plus(text).encode(),
        json.dumps(text)[1:-1].encode(),
        json.dumps(text, ensure_ascii=False)[1:-1].encode(),
        json.dumps(json.dumps(text))[3:-3].encode(),
        saxutils.escape(text).encode(),
        html.escape(text).encode(),
        shlex.quote(text).encode().removeprefix(b"'").removesuffix(b"'") if "'" in text else secret,
    }
    for form in made:
        assert form in found or masked(secret, b"<" + form + b">") == b"<***>", form


@pytest.mark.parametrize(
    "form",
    [
        b'it\\\'s\\ \\$5\\ \\&\\ \\"more\\"',  # bash's printf %q
        b"it'\\''s $5 & \"more\"",
        b'it\'s \\$5 & \\"more\\"',
        b"it%27s%20%245%20%26%20%22more%22",
        b"it%27s+%245+%26+%22more%22",
        b"it's%20%245%20%26%20%22more%22",
        b"it's $5 &amp; &quot;more&quot;",
        b"it&#39;s $5 &amp; &#34;more&#34;",
        b"it&apos;s $5 &amp; &quot;more&quot;",
        b'it\\u0027s $5 \\u0026 \\"more\\"',
    ],
)
def test_how_programs_write_it(form: bytes) -> None:
    assert masked(b'it\'s $5 & "more"', b"[" + form + b"]") == b"[***]"


def test_each_line_of_a_secret_of_several_lines() -> None:
    key = b"-----BEGIN KEY-----\nMIIEvQIBADAN\n  indented/line\n}\n-----END KEY-----\n"
    output = b"got MIIEvQIBADAN and indented/line and indented\\/line and } there\n"
    assert masked(key, output) == b"got *** and *** and *** and } there\n"
    assert masked(key, b"<" + key.strip().replace(b"\n", b"\r\n") + b">") == b"<***>"
    assert masked(key, b"$'" + key.strip().replace(b"\n", b"\\n") + b"'") == b"$'***'"


def test_a_long_secret_that_base64_broke_into_lines() -> None:
    secret = bytes(range(33, 126)) * 2
    broken = base64.encodebytes(secret)
    assert masked(secret, broken).replace(b"***", b"").strip(b"=\n") == b""


def test_white_space_around_a_secret_is_not_part_of_it() -> None:
    assert forms(b"  the-token\n") == forms(b"the-token")
    assert masked(b"the-token\n", b"<the-token>") == b"<***>"


def test_every_form_is_long_enough() -> None:
    assert min(map(len, forms(b"a\nbb\nccc\ndddd"))) == SHORTEST_SECRET
    assert forms(b"abc") == frozenset()
