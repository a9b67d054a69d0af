"""From tokens to a tree, by precedence: ``||`` binds least, then ``&&``, equality, order, ``!``, and access most.

Only the form is judged here; whether names exist is for ``names``. Depth is counted as GitHub's two parsers count it,
the one by parentheses, calls, indexes and operators on the way in, the other by nodes; the stricter one decides.
"""

from ostler.expr import nodes
from ostler.expr.errors import ExpressionMissing, ExpressionTooDeep, UnexpectedEnd, UnexpectedSymbol
from ostler.expr.lexer import Token, operator_meant, tokens
from ostler.expr.nodes import Binary, Call, Index, Literal, Logical, Name, Node, Not, Property, Star

MAX_DEPTH = 50

_STRENGTHS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4}
_LOOSEST, _LOGICAL = 1, 2
_VALUE = "a value: a literal, a context, a function call or '('"
_NEXT = "an operator or the end"


def parse(text: str, start: int = 0, end: int | None = None) -> Node:
    """Parse an expression, or the stretch of a text that is one; offsets are those of the text."""
    stop = len(text) if end is None else end
    parser = _Parser(text, tokens(text, start, stop))
    if parser.kind == "end":
        raise ExpressionMissing("an expression was expected", start, stop, expected=_VALUE)
    node = parser.expression()
    if parser.kind != "end":
        raise parser.unexpected(_NEXT)
    if len(parser.tokens) > MAX_DEPTH and nodes.depth(node) > MAX_DEPTH:
        raise _too_deep(node.start, node.end)
    return node


def _too_deep(start: int, end: int) -> ExpressionTooDeep:
    message = f"the expression is nested more than {MAX_DEPTH} deep"
    return ExpressionTooDeep(
        message, start, end, expected=f"at most {MAX_DEPTH} levels", fix="Use several steps or outputs."
    )


class _Parser:
    __slots__ = ("at", "depth", "kind", "text", "token", "tokens")

    def __init__(self, text: str, found: list[Token]) -> None:
        self.text = text
        self.tokens = found
        self.depth = 0
        self.at = 0
        self.token = found[0]
        self.kind = self.token.kind

    def expression(self) -> Node:
        self.deeper()
        node = self.operators(_LOOSEST)
        self.depth -= 1
        return node

    def operators(self, least: int) -> Node:
        """Parse operands and the operators between them that bind at least so much."""
        left = self.negation() if self.kind == "!" else self.access()
        while (strength := _STRENGTHS.get(self.kind, 0)) >= least:
            if strength <= _LOGICAL:
                left = self.chain(left, strength)
            else:
                operator = self.kind
                self.advance()
                right = self.operators(strength + 1)
                left = Binary(operator, left, right, left.start, right.end)
        return left

    def chain(self, first: Node, strength: int) -> Logical:
        """Parse all further operands of the same ``&&`` or ``||``."""
        self.deeper()
        operator = self.kind
        operands = [first]
        while self.kind == operator:
            self.advance()
            operands.append(self.operators(strength + 1))
        self.depth -= 1
        return _logical(operator, operands)

    def negation(self) -> Node:
        start = self.token.start
        self.advance()
        self.deeper()
        operand = self.negation() if self.kind == "!" else self.access()
        self.depth -= 1
        return Not(operand, start, operand.end)

    def access(self) -> Node:
        token = self.token
        node = self.primary()
        if token.kind == "literal":
            return node
        before = self.depth
        while True:
            if self.kind == ".":
                self.advance()
                self.deeper()
                node = self.member(node)
            elif self.kind == "[":
                self.advance()
                node = self.index(node)
                self.deeper()
            else:
                self.depth = before
                return node

    def member(self, target: Node) -> Node:
        token = self.token
        if token.kind == "name":
            self.advance()
            return Property(target, str(token.value), target.start, token.end)
        if token.kind == "*":
            self.advance()
            return Star(target, target.start, token.end)
        raise self.unexpected("the name of a property, or '*'", fix="Write a key with other characters as ['key'].")

    def index(self, target: Node) -> Node:
        if self.kind == "*":
            self.advance()
            return Star(target, target.start, self.closing("]"))
        index = self.expression()
        return Index(target, index, target.start, self.closing("]"))

    def primary(self) -> Node:
        token = self.token
        if token.kind == "literal":
            self.advance()
            return Literal(token.value, token.start, token.end)
        if token.kind == "name":
            self.advance()
            if self.kind == "(":
                return self.call(token)
            return Name(str(token.value), token.start, token.end)
        if token.kind == "(":
            self.advance()
            node = self.expression()
            self.closing(")")
            return node
        raise self.unexpected(_VALUE)

    def call(self, name: Token) -> Call:
        self.advance()
        arguments: list[Node] = []
        if self.kind != ")":
            arguments.append(self.expression())
            while self.kind == ",":
                self.advance()
                arguments.append(self.expression())
        return Call(str(name.value), tuple(arguments), name.start, self.closing(")", "',' or ')'"))

    def closing(self, bracket: str, expected: str = "") -> int:
        """Go past a closing bracket and return where it ends."""
        if self.kind != bracket:
            raise self.unexpected(expected or f"{bracket!r} or an operator")
        end = self.token.end
        self.advance()
        return end

    def advance(self) -> None:
        self.at += 1
        self.token = self.tokens[self.at]
        self.kind = self.token.kind

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.token.start, self.token.end)

    def unexpected(self, expected: str, *, fix: str = "") -> UnexpectedSymbol | UnexpectedEnd:
        token = self.token
        if token.kind == "end":
            return UnexpectedEnd("the expression ends too early", token.start, token.end, expected=expected, fix=fix)
        lexeme = self.text[token.start : token.end]
        meant = operator_meant(lexeme) if token.kind == "name" else ""
        fix = f"Write {meant}." if meant else fix
        return UnexpectedSymbol(f"unexpected {lexeme!r}", token.start, token.end, expected=expected, fix=fix)


def _logical(operator: str, operands: list[Node]) -> Logical:
    """Join operands, taking in those of the same operator, which parentheses may have set apart."""
    flat: list[Node] = []
    for operand in operands:
        if isinstance(operand, Logical) and operand.operator == operator:
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return Logical(operator, tuple(flat), operands[0].start, operands[-1].end)
