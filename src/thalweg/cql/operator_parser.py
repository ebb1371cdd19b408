"""Operators as Spark SQL ranks them, which is not how the library does.

From the tightest: a sign or ~, then * / % DIV, then + - ||, then << >> >>>, then
&, then ^, then |, then all comparisons on one level, then IS, IN, LIKE, BETWEEN
and their kin, then NOT, AND, OR. Operators of one level go from left to right.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.cql.syntax_errors import PointedParser


class Operator(NamedTuple):
    """A binary operator: its rank, its node, and how many tokens it is written with."""

    rank: int
    node: Callable[..., exp.Expr]
    tokens: int = 1


def _unsigned_shift(this: exp.Expr, expression: exp.Expr) -> exp.Expr:
    return exp.Operator(this=this, operator=">>>", expression=expression)


# Shifts are written with several tokens, for > may also close a type: ARRAY<ARRAY<INT>>.
_SHIFTS = (
    Operator(4, _unsigned_shift, 3),
    Operator(4, exp.BitwiseRightShift, 2),
    Operator(4, exp.BitwiseLeftShift, 2),
)
_SHIFT_TOKENS = {
    _SHIFTS[0]: [TokenType.GT] * 3,
    _SHIFTS[1]: [TokenType.GT] * 2,
    _SHIFTS[2]: [TokenType.LT] * 2,
}
_OPERATORS = {
    TokenType.AMP: Operator(3, exp.BitwiseAnd),
    TokenType.CARET: Operator(2, exp.BitwiseXor),
    TokenType.PIPE: Operator(1, exp.BitwiseOr),
    TokenType.EQ: Operator(0, exp.EQ),
    TokenType.NEQ: Operator(0, exp.NEQ),
    TokenType.NULLSAFE_EQ: Operator(0, exp.NullSafeEQ),
    TokenType.GT: Operator(0, exp.GT),
    TokenType.GTE: Operator(0, exp.GTE),
    TokenType.LT: Operator(0, exp.LT),
    TokenType.LTE: Operator(0, exp.LTE),
}


class OperatorParser(PointedParser):
    """Parses operators; `_parse_bitwise` is Spark's `valueExpression`."""

    FACTOR: ClassVar[dict[TokenType, Any]] = {
        TokenType.STAR: exp.Mul,
        TokenType.SLASH: exp.Div,
        TokenType.MOD: exp.Mod,
        TokenType.DIV: exp.IntDiv,
    }
    TERM: ClassVar[dict[TokenType, Any]] = {
        TokenType.PLUS: exp.Add,
        TokenType.DASH: exp.Sub,
        TokenType.DPIPE: exp.DPipe,
        TokenType.COLLATE: exp.Collate,
    }
    # Without NOT, which is no sign: 1 + NOT a is a mistake.
    UNARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        TokenType.PLUS: lambda self: self._positive(),
        TokenType.TILDE: SparkParser.UNARY_PARSERS[TokenType.TILDE],
        TokenType.DASH: lambda self: self._negative(),
    }

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """What stands between AND and OR: a value, perhaps with IS, IN, LIKE … behind it."""
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._parse_equality()))
        return self._parse_range(self._parse_bitwise(), parse_is=True)

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        return self._parse_bitwise()

    def _parse_bitwise(self, weakest: int = 0) -> exp.Expr | None:
        """A term, and operators of at least the given rank with their right sides."""
        this = self._parse_term()
        while (found := self._operator()) is not None and found.rank >= weakest:
            self._advance(found.tokens)
            right = self._parse_bitwise(found.rank + 1)
            if right is None:
                self.raise_error("Required argument 'expression' missing for <class>")
            this = self.expression(found.node(this=this, expression=right))
        return this

    def _operator(self) -> Operator | None:
        for shift in _SHIFTS:
            tokens = self._tokens[self._index : self._index + shift.tokens]
            if [t.token_type for t in tokens] == _SHIFT_TOKENS[shift] and _adjacent(tokens):
                return shift
        return _OPERATORS.get(self._curr.token_type)

    def _negative(self) -> exp.Expr | None:
        """A sign before digits belongs to the number: -1::STRING is '-1'."""
        sign = self._prev
        digits = self._tokens[self._index : self._index + 2]
        kinds = [token.token_type for token in digits]
        if kinds[:1] == [TokenType.NUMBER] or kinds == [TokenType.DOT, TokenType.NUMBER]:
            number = self.expression(exp.Neg(this=self._parse_primary()), sign)
            return self._parse_column_ops(number)
        return self.expression(exp.Neg(this=self._parse_unary()))

    def _positive(self) -> exp.Expr:
        sign = self._prev
        value = self._parse_unary()
        if value is None:
            self.raise_error("Required argument 'this' missing for <class>")
        call = exp.Anonymous(this="positive", expressions=[value])
        return self.expression(call, sign)


def _adjacent(tokens: list[Token]) -> bool:
    return all(a.end + 1 == b.start for a, b in pairwise(tokens))
