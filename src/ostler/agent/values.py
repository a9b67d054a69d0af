"""Reading a setting's text: each form has one reader, whatever the text came from.

A value that cannot be read is an expected outcome and answered with ``Refused``; where it stood is added by the caller.
"""

from ostler.agent.settings import Form, Setting
from ostler.domain.duration import parse_duration
from ostler.domain.machine import Refused
from ostler.domain.size import parse_size

Raw = str | tuple[str, ...] | dict[str, str]
"""As written: a text, a list of texts or pairs."""

Value = str | bool | int | tuple[str, ...] | dict[str, str] | None
"""As meant. Durations are in microseconds; ``None`` is a duration that was left empty."""

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0", ""})


def read(setting: Setting, raw: Raw) -> Value | Refused:
    """Return what the text means, or what is wrong with it."""
    if setting.form is Form.LIST:
        return _list(setting, raw)
    if setting.form is Form.PAIRS:
        return _pairs(raw)
    if not isinstance(raw, str):
        return Refused("value_not_text", f"it must be one value, a {setting.form.value}, not a list or pairs")
    text = raw.strip()
    if setting.choices and text not in setting.choices:
        return Refused("value_unknown", f"{text!r} is not one of {', '.join(setting.choices)}")
    if setting.form is Form.FLAG:
        return _flag(text)
    if setting.form is Form.NUMBER:
        return _number(text)
    if setting.form is Form.DURATION:
        return _duration(text)
    if setting.form is Form.SIZE:
        return parse_size(text)
    return text


def _flag(text: str) -> bool | Refused:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    return Refused("flag_malformed", f"{text!r} is neither true nor false")


def _number(text: str) -> int | Refused:
    if not (text.isascii() and text.isdigit()):
        return Refused("number_malformed", f"{text!r} is not a whole number")
    return int(text)


def _duration(text: str) -> int | Refused | None:
    if not text:
        return None
    micros = parse_duration(text)
    if not isinstance(micros, Refused) and micros < 0:
        return Refused("duration_negative", f"{text!r} is less than nothing")
    return micros


def _list(setting: Setting, raw: Raw) -> tuple[str, ...] | Refused:
    if isinstance(raw, dict):
        return Refused("value_not_list", "it must be a list, not pairs")
    items = raw.replace(",", " ").split() if isinstance(raw, str) else [item.strip() for item in raw]
    wrong = [item for item in items if setting.choices and item not in setting.choices]
    if wrong:
        return Refused("value_unknown", f"{wrong[0]!r} is not one of {', '.join(setting.choices)}")
    return tuple(dict.fromkeys(item for item in items if item))


def _pairs(raw: Raw) -> dict[str, str] | Refused:
    if isinstance(raw, dict):
        return dict(raw)
    items = [piece for item in raw.split() for piece in _pieces(item)] if isinstance(raw, str) else raw
    pairs = [item.partition("=") for item in items]
    wrong = [name for name, equals, _ in pairs if not equals or not name]
    if wrong:
        return Refused("pair_malformed", f"{wrong[0]!r} is not NAME=value")
    return {name: value for name, _, value in pairs}


def _pieces(item: str) -> list[str]:
    """Split at commas too, unless they belong to a value."""
    pieces = [piece for piece in item.split(",") if piece]
    return pieces if all("=" in piece for piece in pieces) else [item]
