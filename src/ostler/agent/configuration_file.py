"""Finding and reading the agent's file: YAML or TOML, to plain texts that remember their lines.

Values stay as written: the forms are read in ``values``, the same for a file as for the environment, so that ``yes``,
``1m`` and ``08`` mean one thing everywhere.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple, cast

import yaml

from ostler.agent.errors import ConfigurationError
from ostler.agent.settings import BY_KEY
from ostler.agent.values import Raw

NAMES = ("ostler-agent.yaml", "ostler-agent.yml", "ostler-agent.toml")


class Written(NamedTuple):
    """One value, as it stands in a file."""

    key: str
    raw: Raw
    line: int


class File(NamedTuple):
    """What a file says."""

    path: Path
    values: tuple[Written, ...]


def search(current: Path, home: Path, program: Path, system: Path = Path("/etc")) -> Path | None:
    """Return the first file there is: current directory, home, /etc, the directory of the program."""
    for directory in (current, home, system, program):
        for name in NAMES:
            if (directory / name).is_file():
                return directory / name
    return None


def read_file(path: Path) -> File:
    """Return the file's values; raise ``ConfigurationError`` with file and line if it cannot be understood."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}", fix="Check its path and mode.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 text", fix="Save it as UTF-8.") from error
    return File(path, _toml(path, text) if path.suffix == ".toml" else _yaml(path, text))


def _yaml(path: Path, text: str) -> tuple[Written, ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(
            f"{path}:{line}: not YAML: {error.problem}",
            fix="Write one `key: value` per line; indent lists with spaces.",
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}:1: not YAML: {error}", fix="Write one `key: value` per line.") from error
    if root is None:
        return ()
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(
            f"{path}:1: the file must hold keys and values", fix="Write one `key: value` per line."
        )
    written: list[Written] = []
    for name, value in cast("list[tuple[yaml.Node, yaml.Node]]", root.value):
        line = name.start_mark.line + 1
        key = _scalar(path, name)
        if any(key == other.key for other in written):
            raise ConfigurationError(f"{path}:{line}: `{key}` stands here a second time", fix="Remove one of them.")
        written.append(Written(key, _raw(path, value) if key in BY_KEY else "", line))
    return tuple(written)


def _raw(path: Path, node: yaml.Node) -> Raw:
    if isinstance(node, yaml.SequenceNode):
        return tuple(_scalar(path, item) for item in cast("list[yaml.Node]", node.value))
    if isinstance(node, yaml.MappingNode):
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        return {_scalar(path, name): _scalar(path, value) for name, value in pairs}
    return _scalar(path, node)


def _scalar(path: Path, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigurationError(
            f"{path}:{node.start_mark.line + 1}: a plain value is wanted here",
            fix="Write a text, a number or true/false.",
        )
    plain_null = node.style is None and node.value in {"~", "null", "Null", "NULL"}
    return "" if plain_null else cast("str", node.value)


def _toml(path: Path, text: str) -> tuple[Written, ...]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = str(error).rpartition("line ")[2].partition(",")[0]
        raise ConfigurationError(
            f"{path}:{line if line.isdigit() else 1}: not TOML: {error}", fix='Write one `key = "value"` per line.'
        ) from error
    lines = text.splitlines()
    written: list[Written] = []
    for key, value in table.items():
        starts = (f"{key} ", f"{key}=", f'"{key}"', f"[{key}]")
        line = next((number for number, line in enumerate(lines, 1) if line.strip().startswith(starts)), 1)
        written.append(Written(key, _plain(path, line, value) if key in BY_KEY else "", line))
    return tuple(written)


def _plain(path: Path, line: int, value: object) -> Raw:
    if isinstance(value, list):
        return tuple(_text(path, line, item) for item in cast("list[object]", value))
    if isinstance(value, dict):
        return {key: _text(path, line, item) for key, item in cast("dict[str, object]", value).items()}
    return _text(path, line, value)


def _text(path: Path, line: int, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise ConfigurationError(
        f"{path}:{line}: a plain value is wanted here", fix="Write a text, a number or true/false."
    )
