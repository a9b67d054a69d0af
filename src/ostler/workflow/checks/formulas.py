"""The expressions of a file, parsed once for all passes that look at them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ostler.expr.errors import ExpressionError
from ostler.expr.nodes import Node
from ostler.expr.parser import parse
from ostler.expr.templates import OPENS, Template
from ostler.workflow.structure import Site


class Formula(NamedTuple):
    """What stands in one place: its expressions, or why they cannot be read."""

    site: Site
    nodes: tuple[Node, ...]
    around: str
    """The text around the expressions."""
    error: ExpressionError | None = None

    @property
    def sole(self) -> Node | None:
        """Return the expression that is the whole value."""
        return self.nodes[0] if len(self.nodes) == 1 and not self.around else None


def formulas(sites: Iterable[Site]) -> Iterator[Formula]:
    """Parse what stands in each place."""
    for site in sites:
        text = site.node.text
        bare = site.condition and OPENS not in text
        if bare and not text.strip():
            continue
        try:
            parts = (parse(text),) if bare else Template.parse(text).parts
        except ExpressionError as error:
            yield Formula(site, (), "", error)
            continue
        nodes = tuple(part for part in parts if not isinstance(part, str))
        yield Formula(site, nodes, "".join(part for part in parts if isinstance(part, str)))
