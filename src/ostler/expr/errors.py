"""What can be wrong with an expression: always with a stable code, a place, and what would have been right there."""

NOWHERE = -1
"""The offset of an error whose place is still to be filled in by whoever called."""


class ExpressionError(Exception):
    """An expression is wrong, in its form or in what it asks for."""

    code = "expression_wrong"

    def __init__(
        self, message: str, start: int = NOWHERE, end: int = NOWHERE, *, expected: str = "", fix: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        """Offsets in the text that was parsed; the end is the first place after it."""
        self.expected = expected
        self.fix = fix


class UnexpectedSymbol(ExpressionError):
    """Something stands where it cannot stand."""

    code = "expression_unexpected_symbol"


class UnexpectedEnd(ExpressionError):
    """The expression ends in the middle."""

    code = "expression_unexpected_end"


class ExpressionMissing(ExpressionError):
    """There is nothing where an expression should be."""

    code = "expression_missing"


class ExpressionNotClosed(ExpressionError):
    """A `${{` has no `}}` that ends it."""

    code = "expression_not_closed"


class ExpressionTooLong(ExpressionError):
    """The expression has more than 21,000 characters."""

    code = "expression_too_long"


class ExpressionTooDeep(ExpressionError):
    """The expression, or the JSON that it reads or writes, is nested too deeply."""

    code = "expression_too_deep"


class UnknownName(ExpressionError):
    """There is no context of this name where the expression stands."""

    code = "expression_unknown_name"


class UnknownFunction(ExpressionError):
    """There is no function of this name where the expression stands."""

    code = "expression_unknown_function"


class WrongArgumentCount(ExpressionError):
    """A function is called with more or fewer arguments than it takes."""

    code = "expression_argument_count"


class WrongArgument(ExpressionError):
    """A function cannot do anything with the value that it was given."""

    code = "expression_argument"


class OutputTooLarge(ExpressionError):
    """The values that the expression makes are too large."""

    code = "expression_output_too_large"
