"""The page of settings: the agent's from its table, the server's from its own."""

from ostler.agent.settings import PREFIX, SETTINGS, Form, Setting
from ostler.server.settings import SETTINGS as SERVER_SETTINGS

_HEAD = f"""\
# Settings

## Agent

A flag of `ostler agent run` beats the environment, the environment beats the file, the file beats the default. The file
is YAML, written by hand or by `ostler agent configure`; it is looked for in the current directory, the home directory,
`/etc` and the directory of the program. Only `token` is needed in the common case. A key that this version does not
know is named in the log and does not stop the agent.

Each key is also a variable: `{PREFIX}` and the key in capitals. A flag is the key with hyphens.

- A **duration** is a sequence of numbers with units, as in `300ms`, `1m` or `1h30m`; units are `ns`, `us`, `ms`, `s`,
  `m` and `h`.
- A **size** is a number with `KiB`, `MiB` or `GiB`.
- A **list** is a list in the file; in the environment commas and spaces both separate.
- **Pairs** are a map in the file, and `NAME=value` in the environment.

| Key | Variable | Form | Default | Meaning |
| --- | --- | --- | --- | --- |
"""

_SERVER = """
## Server

Flags beat the environment; [the command line](cli.md) lists them. A server needs a database and a place for files;
`ostler up` brings both.

| Variable | Meaning |
| --- | --- |
"""


def page() -> str:
    """The whole page."""
    agent = "\n".join(_row(setting) for setting in SETTINGS)
    server = "\n".join(f"| `{name}` | {_cell(text)} |" for name, text in SERVER_SETTINGS.items())
    return f"{_HEAD}{agent}\n{_SERVER}{server}\n"


def _row(setting: Setting) -> str:
    variables = f"`{setting.variable}`" + (f", `{setting.alias}`" if setting.alias else "")
    summary = setting.summary
    if setting.choices:
        summary += " One of " + ", ".join(f"`{choice}`" for choice in setting.choices) + "."
    if setting.form is Form.LIST and setting.joins != ",":
        summary += " In the environment commonly separated by spaces."
    default = f"`{setting.default}`" if setting.default else ""
    return f"| `{setting.key}` | {variables} | {setting.form.value} | {default} | {_cell(summary)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
