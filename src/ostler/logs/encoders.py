"""Every form in which a secret may reach the log: as it is, and as common tools rewrite it.

Why here and not in the masker: what a secret looks like after `base64`, `jq`, `curl --data-urlencode` or `set -x` is a
list of facts about other programs, and grows with them; finding bytes fast is another subject.

Rules. White space around a secret is not part of it. A form is a *core*: only the characters that do not depend on
what stands before or after the secret, so that it is found inside a longer encoded text as well. Each line of a secret
of several lines counts on its own, in its textual forms. Forms shorter than `SHORTEST_SECRET` would mask ordinary text
and are left out; with four bytes as the shortest secret that never drops the only form of one.
"""

from __future__ import annotations

from binascii import b2a_base64, hexlify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_SECRET = 4
_BASE64_COLUMNS = (76, 64)
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_URL_SAFE_SETS = (
    _UNRESERVED,  # RFC 3986, curl, Go's PathEscape
    _UNRESERVED + b"/",  # Python's quote
    _UNRESERVED + b"!*'()",  # encodeURIComponent
    _UNRESERVED.replace(b"~", b"*"),  # HTML forms
    _UNRESERVED + b"!*'();/?:@&=+$,#",  # encodeURI
)
_NEVER_REWRITTEN = _UNRESERVED.replace(b"~", b"")
_SHELL_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"
_NAMED_ESCAPES = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 27: b"E"}
_JSON_ESCAPES = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


def forms(secret: bytes) -> frozenset[bytes]:
    """Every byte string to look for. Empty if the secret is too short to be masked at all."""
    core = secret.strip()
    if len(core) < SHORTEST_SECRET:
        return frozenset()
    found = {core, hexlify(core), hexlify(core).upper(), *_base64(core), *_textual(core)}
    for line in core.splitlines():
        stripped = line.strip()
        found.update((stripped, *_textual(stripped)))
    return frozenset(form for form in found if len(form) >= SHORTEST_SECRET)


def _textual(text: bytes) -> Iterator[bytes]:
    if not text.translate(None, _NEVER_REWRITTEN):
        return
    yield text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield from _url(text)
    yield from _json(text)
    yield from _xml(text)
    yield from _shell(text)


def _base64(core: bytes) -> Iterator[bytes]:
    for shift in range(3):
        encoded = b2a_base64(b"\0" * shift + core, newline=False).rstrip(b"=")
        start = (8 * shift + 5) // 6
        settled = 8 * (shift + len(core)) // 6
        yield from _both_alphabets(encoded[start:settled])
        yield from _both_alphabets(encoded[start:])
    encoded = b2a_base64(core, newline=False).rstrip(b"=")
    for columns in _BASE64_COLUMNS:  # command line tools break long lines
        if len(encoded) > columns:
            for start in range(0, len(encoded), columns):
                yield from _both_alphabets(encoded[start : start + columns])


def _both_alphabets(encoded: bytes) -> Iterator[bytes]:
    yield encoded
    yield encoded.replace(b"+", b"-").replace(b"/", b"_")


def _url(text: bytes) -> Iterator[bytes]:
    codes = set(text)
    for safe in _URL_SAFE_SETS:
        for digits in (b"%%%02X", b"%%%02x"):
            encoded = _rewrite(text, {code: digits % code for code in codes if code not in safe})
            yield encoded
            if b"%20" in encoded:
                yield encoded.replace(b"%20", b"+")


def _json(text: bytes) -> Iterator[bytes]:
    controls = {code: b"\\u%04x" % code for code in range(32)} | _JSON_ESCAPES
    html_safe = {code: b"\\u%04x" % code for code in b"<>&'"}
    as_bytes = [_rewrite(text, controls), _rewrite(text, controls | html_safe)]
    as_ascii = [plain for form in as_bytes for plain in _escape_non_ascii(form)]
    for form in (*as_bytes, *as_ascii):
        yield form
        yield form.replace(b"/", b"\\/")
        yield _rewrite(form, _JSON_ESCAPES)  # JSON that is a string in JSON
    upper = _rewrite(text, {code: b"\\u%04X" % code for code in (*range(32), *b"<>&'")} | _JSON_ESCAPES)
    yield upper


def _escape_non_ascii(text: bytes) -> Iterator[bytes]:
    if text.isascii() and b"\x7f" not in text:
        return
    for digits in ("\\u%04x", "\\u%04X"):
        units = text.decode("utf-8", "replace").encode("utf-16-be")
        codes = [int.from_bytes(units[place : place + 2], "big") for place in range(0, len(units), 2)]
        yield "".join(chr(code) if code < 127 else digits % code for code in codes).encode()


def _xml(text: bytes) -> Iterator[bytes]:
    minimal = {38: b"&amp;", 60: b"&lt;", 62: b"&gt;"}
    for quote in (b"", b"&quot;", b"&#34;"):
        for apostrophe in (b"", b"&apos;", b"&#39;", b"&#x27;"):
            quotes = {34: quote or b'"', 39: apostrophe or b"'"}
            yield _rewrite(text, minimal | quotes)
    yield _rewrite(text, {38: b"&amp;", 60: b"&lt;"})


def _shell(text: bytes) -> Iterator[bytes]:
    yield text.replace(b"'", b"'\\''")
    yield text.replace(b"'", b"'\"'\"'")
    double_quoted = {code: b"\\" + bytes((code,)) for code in b'"$`\\'}
    yield _rewrite(text, double_quoted)
    yield _rewrite(text, double_quoted | {33: b"\\!"})
    yield _rewrite(
        text,
        {code: b"\\" + bytes((code,)) for code in range(128) if code not in _SHELL_PLAIN and code != 10},
    )
    named = {code: b"\\" + letter for code, letter in _NAMED_ESCAPES.items()}
    octal = {code: b"\\%03o" % code for code in (*range(32), *range(127, 256))}
    for beyond_ascii in (octal, {code: value for code, value in octal.items() if code < 128}):
        yield _rewrite(text, beyond_ascii | named | {39: b"\\'", 92: b"\\\\"})


def _rewrite(text: bytes, replacements: dict[int, bytes]) -> bytes:
    return b"".join([replacements.get(code) or bytes((code,)) for code in text])
