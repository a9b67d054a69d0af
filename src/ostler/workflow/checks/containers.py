"""``container`` and ``services``: an image, ports that are ports, and options that the runner does not set itself."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal, singles
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import MappingNode, Node

_PREFIX: Final = "docker://"
_PORT: Final = re.compile(
    r"(?:[\d.\[\]a-f:]+:)?(?:(?P<host>\d+)(?:-\d+)?:)?(?P<inner>\d+)(?:-\d+)?(?:/(?:tcp|udp|sctp))?"
)
_OPTION: Final = re.compile(r"(?:^|\s)(--network|--net|--entrypoint)(?:[=\s]|$)")
_HIGHEST_PORT: Final = 65_535


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the containers of all jobs."""
    for job in sheet.jobs:
        node = job.node.get("container")
        if node is not None:
            yield from _container(node, service=False)
        for entry in plain.entries(job.node.get("services")):
            yield from _container(entry.value, service=True)


def _container(node: Node, *, service: bool) -> Iterator[Finding]:
    image = node.get("image") if isinstance(node, MappingNode) else node
    if isinstance(node, MappingNode) and any("${{" in entry.key.text for entry in node):
        return
    text = plain.text(image)
    if text == _PREFIX or (not text and (service or image is None)):
        yield Finding("container-image", "no image is named", (image or node).span, "Add `image:`.")
    if not isinstance(node, MappingNode):
        return
    for port in singles(node.get("ports")):
        if not plain.is_template(port) and not _is_port(plain.text(port)):
            message = f"{port.text[:40]!r} is not a port"
            fix = "Write `80`, `8080:80` or `8080:80/udp`; quote it, or YAML may read a number of another base."
            yield Finding("container-port", message, port.span, fix, "warning")
    options = node.get("options")
    if options is not None and (found := _OPTION.search(literal(options))):
        message = f"the option {found[1]} is not supported: the runner sets it itself"
        yield Finding("container-option", message, options.span, "Remove it.", "warning")


def _is_port(text: str) -> bool:
    found = _PORT.fullmatch(text)
    return bool(found) and all(0 < int(part[:6]) <= _HIGHEST_PORT for part in found.group("host", "inner") if part)
