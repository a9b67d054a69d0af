"""Who may do what on a page: the one question that the pages ask of a role."""

from ostler.server.authentication import OPERATORS
from ostler.server.call import UserCaller


def operates(person: UserCaller) -> bool:
    """Whether somebody may change pools, runners and workflows."""
    return person.role in OPERATORS
