"""What CQL adds to a query: windows, ISTREAM and its kin, and reserved clauses.

Windows and reserved clauses hang on the library's nodes as extra arguments:
`window` on a table or subquery, `reserved` on a query.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.cql.operator_parser import OperatorParser
from thalweg.cql.statements import Name
from thalweg.cql.syntax_errors import Problem, token_span
from thalweg.cql.windows import (
    MOST_ROWS,
    Length,
    RangeSpec,
    RowsSpec,
    SlideSpec,
    UnboundedSpec,
    WindowSpec,
)
from thalweg.errors import QueryError, Span, did_you_mean, shortened
from thalweg.units import exact_number, is_unit_word, nanoseconds

STREAM_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")
WINDOW_WORDS = ("RANGE", "ROWS", "NOW", "UNBOUNDED", "TUMBLE", "HOP", "PARTITION")

# Words that may follow a length without a unit.
_AFTER_LENGTH = (
    *("SLIDE", "KEY", "UNIT", "SLACK", "SKEW", "FROM"),
    *("LEVEL", "LIFESPAN", "CLOSING_WHEN"),
)
# Clauses that a missing name after AS must not swallow.
_NO_ALIAS = (
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
)

# Calls whose arguments are not a plain list keep the library's own parsers.
_SPECIAL_CALLS = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")

# The library tries a type in several ways at each level, and the time adds up.
_DEEPEST_TYPE = 50


class QueryParser(OperatorParser):
    """Parses queries.

    No function is known to the parser: every call becomes `Anonymous` with the
    name as written, and `thalweg.functions` gives it a meaning.
    """

    _types_open = 0
    STRICT_CAST = True
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _SPECIAL_CALLS
    }
    # As the library's, but with their places in the text.
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        **SparkParser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
        TokenType.HEX_STRING: lambda self, token: self._bytes(token),
    }
    # Without the arrows into JSON that other dialects have.
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        kind: SparkParser.COLUMN_OPERATORS[kind] for kind in (TokenType.DOT, TokenType.DCOLON)
    }
    LAMBDAS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        TokenType.ARROW: SparkParser.LAMBDAS[TokenType.ARROW],
        TokenType.FARROW: lambda self, names: self._refuse(
            "arguments cannot be named", token=self._prev, hint="give them in their order"
        ),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }

    def _query(self) -> exp.Expr:
        """A query: SELECT, set operations, WITH, ISTREAM(SELECT …), or GSQL's MERGE."""
        start = self._curr
        if self._match(TokenType.WITH, advance=False):
            tables = self._parse_with()
            query = self._query()
            query.set("with_", tables)
            return query
        if self._match(TokenType.MERGE):
            merged: exp.Expr = self._merge(start)
            return merged
        if self._stream_operator_around():
            parsed = self._parse_set_operations(self._streamed())
        else:
            parsed = self._parse_select(nested=True)
        if isinstance(parsed, exp.Subquery):
            parsed = self._parse_query_modifiers(self._parse_set_operations(parsed))
        if not isinstance(parsed, exp.Query):
            self._refuse("a query is missing", token=start, hint="write SELECT …")
        return parsed

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._types_open == _DEEPEST_TYPE:
            self._refuse("the type is nested too deeply")
        self._types_open += 1
        try:
            return super()._parse_types(*args, **kwargs)
        finally:
            self._types_open -= 1

    def _bytes(self, token: Token) -> exp.Expr:
        if self.sql[token.start] == "0":
            self._refuse(
                f"0x{token.text} is not a number",
                token=token,
                hint=f"write {int(token.text, 16)}, or X'{token.text}' for bytes"
                if len(token.text) <= 16
                else f"write X'{token.text}' for bytes",
            )
        return self.expression(exp.HexString(this=token.text), token)

    def _merge(self, start: Token) -> Any:
        """`MERGE a.t : b.t FROM a, b`: parsed so that binding can name it."""
        self._parse_column()
        self._expect(TokenType.COLON, ":")
        self._parse_column()
        merged = exp.Select(expressions=[exp.Star()], from_=self._parse_from())
        merged = self._parse_query_modifiers(merged)
        return self._reserve(merged, "MERGE", start)

    def _starts_query(self) -> bool:
        return (
            self._curr.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
            or self._stream_operator_around()
        )

    def _stream_operator_around(self) -> bool:
        """Whether ISTREAM and the like stand here in front of a parenthesis."""
        return self._word() in STREAM_OPERATORS and self._next.token_type == TokenType.L_PAREN

    def _streamed(self) -> exp.Subquery:
        """`ISTREAM(query)`."""
        start = self._curr
        self._advance()
        self._expect(TokenType.L_PAREN, "(")
        streamed = exp.Subquery(this=self._query())
        self._expect(TokenType.R_PAREN, ")")
        streamed.set("stream_operator", start.text.upper())
        streamed.update_positions(start)
        return streamed

    def _at_streamed_query(self) -> bool:
        """Whether `ISTREAM(SELECT …` stands here, and not a function of that name."""
        if not self._stream_operator_around():
            return False
        inside = (token for token in self._tokens[self._index + 1 :])
        first = next((t for t in inside if t.token_type != TokenType.L_PAREN), None)
        return first is not None and (
            first.token_type in (TokenType.SELECT, TokenType.WITH)
            or first.text.upper() in STREAM_OPERATORS
        )

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """A query, also ISTREAM(…) around one, in FROM with a window and a name."""
        if not self._at_streamed_query():
            return super()._parse_select_query(*args, **kwargs)
        streamed = self._streamed()
        if kwargs.get("parse_subquery_alias", True):
            if self._at_window():
                streamed.set("window", self._window())
            streamed.set("alias", self._parse_table_alias())
        if not kwargs.get("parse_set_operation", True) or kwargs.get("table"):
            return streamed
        return self._parse_set_operations(streamed)

    def _parse_statement(self) -> exp.Expr | None:
        """What stands in the parentheses of WITH."""
        if self._at_streamed_query():
            query: exp.Expr | None = self._parse_query_modifiers(self._parse_select())
            return query
        return super()._parse_statement()

    def _name(self, what: str) -> Name:
        token = self._curr
        identifier = self._parse_id_var(any_token=False)
        if identifier is None:
            self._refuse(f"the name of {_article(what)} is missing{self._found()}")
        return Name(identifier.name, token_span(token))

    # Windows

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        schema = bool(args[0] if args else kwargs.get("schema"))
        table = super()._parse_table(*args, **kwargs)
        if not schema and isinstance(table, exp.Table | exp.Subquery):
            self._attach_window(table)
        return table

    def _parse_subquery(
        self, this: exp.Expr | None, parse_alias: bool = True
    ) -> exp.Subquery | None:
        if not parse_alias or this is None or not self._at_window():
            return super()._parse_subquery(this, parse_alias)
        window = self._window()
        subquery = super()._parse_subquery(this, parse_alias)
        if subquery is not None:
            subquery.set("window", window)
        return subquery

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table):
            self._attach_window(this)
            return this
        return super()._parse_bracket(this)

    def _attach_window(self, table: exp.Expr) -> None:
        if self._curr.token_type != TokenType.L_BRACKET:
            return
        token = self._curr
        window = self._window()
        if table.args.get("window") is not None:
            self._refuse("a stream has one window, not two", token=token)
        table.set("window", window)

    def _at_window(self) -> bool:
        return (
            self._curr.token_type == TokenType.L_BRACKET
            and self._next.text.upper().split(" ")[0] in WINDOW_WORDS
        )

    def _window(self) -> WindowSpec:
        start = self._curr
        self._expect(TokenType.L_BRACKET, "[")
        if self._match(TokenType.PARTITION_BY):
            keys = [self._window_key()]
            while self._match(TokenType.COMMA):
                keys.append(self._window_key())
            self._expect_word("ROWS", "PARTITION BY")
            rows = self._row_count()
            spec: WindowSpec = RowsSpec(rows, self._window_end(start), tuple(keys))
        elif self._match_text_seq("PARTITION"):
            self._refuse(f"BY is missing after PARTITION{self._found()}")
        elif self._match_text_seq("ROWS"):
            if self._match_text_seq("UNBOUNDED"):
                spec = UnboundedSpec(self._window_end(start))
            else:
                rows = self._row_count()
                spec = RowsSpec(rows, self._window_end(start))
        elif self._match_text_seq("RANGE"):
            spec = self._range(start)
        elif self._match_text_seq("NOW"):
            here = token_span(self._prev)
            nothing = Length(Fraction(0), has_unit=True, span=here)
            spec = RangeSpec(nothing, self._window_end(start))
        elif self._match_text_seq("UNBOUNDED"):
            spec = UnboundedSpec(self._window_end(start))
        elif self._match_text_seq("TUMBLE"):
            length = self._length()
            spec = SlideSpec(length, length, self._window_end(start))
        elif self._match_text_seq("HOP"):
            length = self._length()
            self._expect(TokenType.COMMA, ",")
            step = self._length()
            spec = SlideSpec(length, step, self._window_end(start))
        else:
            empty = not self._curr or self._curr.token_type == TokenType.R_BRACKET
            self._refuse(
                "the window is empty" if empty else f'"{self._curr.text}" does not start a window',
                detail=(
                    "Windows are: [RANGE length], [RANGE length SLIDE step], [TUMBLE length], "
                    "[HOP length, step],\n[ROWS n], [PARTITION BY columns ROWS n], [NOW], "
                    "[UNBOUNDED]."
                ),
                hint=did_you_mean(self._word(), WINDOW_WORDS),
            )
        return spec

    def _range(self, start: Token) -> WindowSpec:
        if self._match_text_seq("UNBOUNDED"):
            return UnboundedSpec(self._window_end(start))
        length = self._length()
        if self._match_text_seq("SLIDE"):
            step = self._length()
            return SlideSpec(length, step, self._window_end(start))
        return RangeSpec(length, self._window_end(start))

    def _window_end(self, start: Token) -> Span:
        self._expect(TokenType.R_BRACKET, "]")
        return self._since(start)

    def _window_key(self) -> tuple[str, Span]:
        name = self._name("column")
        if self._match(TokenType.DOT):
            name = self._name("column")
        return name.text, name.span

    def _row_count(self) -> int:
        token = self._curr
        rows = exact_number(token.text) if self._match(TokenType.NUMBER) else None
        if rows is None or not 1 <= rows <= MOST_ROWS or not token.text.isdecimal():
            self._refuse(
                "the number of rows must be a positive integer",
                token=token,
                detail=f"It is at most {MOST_ROWS:,}." if rows and rows > MOST_ROWS else None,
                hint="write [ROWS 10]",
            )
        self._match_texts(("ROW", "ROWS"))
        return int(rows)

    def _length(self) -> Length:
        """`10 SECONDS`, `1 MINUTE 30 SECONDS`, `INTERVAL '10' SECOND`, or a bare number."""
        start = self._curr
        self._match(TokenType.INTERVAL)
        total = Fraction(0)
        has_unit = False
        parts = 0
        while self._curr.token_type in (TokenType.NUMBER, TokenType.STRING):
            self._advance()
            token = self._prev
            text, _, tail = token.text.strip().partition(" ")
            amount = exact_number(text)
            if amount is None:
                self._refuse(f'"{shortened(token.text)}" is not a length of time', token=token)
            unit_token = token
            if tail:
                unit = tail.strip()
            elif is_unit_word(self._word()) or self._at_misspelt_unit():
                self._advance()
                unit_token, unit = self._prev, self._prev.text
            elif parts == 0:
                return Length(amount, has_unit=False, span=self._since(start))
            else:
                self._refuse("a unit of time is missing", token=self._curr)
            try:
                total += nanoseconds(amount, unit, token_span(unit_token))
            except QueryError as error:
                raise Problem(error) from None
            has_unit = True
            parts += 1
        if self._match(TokenType.DASH):
            self._refuse("a length of time cannot be negative", token=self._prev)
        if not parts:
            self._refuse(
                f"a length of time is missing{self._found()}", hint="write for instance 10 SECONDS"
            )
        return Length(total, has_unit, self._since(start))

    def _at_misspelt_unit(self) -> bool:
        return self._curr.token_type == TokenType.VAR and self._word() not in _AFTER_LENGTH

    # Clauses reserved for later: parsed whole, refused by name when bound

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        if self._at_reserved_clause():
            return None
        alias = super()._parse_table_alias(*args, **kwargs)
        if self._prev.token_type == TokenType.ALIAS:
            self._refuse('something is missing after "AS"', token=self._prev)
        return alias

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        if self._at_reserved_clause():
            return this
        if self._match(TokenType.ALIAS, advance=False) and self._next.token_type in _NO_ALIAS:
            self._advance()
            self._refuse(f"the name of a column is missing{self._found()}")
        return super()._parse_alias(this, explicit)

    def _at_reserved_clause(self) -> bool:
        word, after = self._word(), self._next.text.upper()
        return (
            word in ("CLOSING_WHEN", "LIFESPAN")
            or (word == "LEVEL" and self._next.token_type == TokenType.NUMBER)
            or (word == "ON" and after == "OVERLOAD")
        )

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        while isinstance(this, exp.Query) and self._at_reserved_clause():
            start = self._curr
            word = start.text.upper()
            self._advance()
            match word:
                case "CLOSING_WHEN":
                    self._parse_disjunction()
                case "LIFESPAN":
                    self._length()
                case "LEVEL":
                    self._advance()
                    self._expect_word("WHEN", "LEVEL")
                    self._parse_disjunction()
                case "ON":
                    self._advance()
                    word = "ON OVERLOAD"
                    self._overload_policy()
            self._reserve(this, word, start)
            this = super()._parse_query_modifiers(this)
        return this

    def _overload_policy(self) -> None:
        policies = ("PRIORITIZE", "SAMPLE", "QUEUE")
        if not self._match_texts(policies):
            self._refuse(
                f'"{self._curr.text}" is not an overload policy'
                if self._curr
                else "an overload policy is missing",
                detail="ON OVERLOAD is followed by " + ", ".join(policies) + ".",
                hint=did_you_mean(self._word(), policies),
            )

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        """GROUP BY, whose expressions may be named as in GSQL: `GROUP BY ts/60 AS minute`."""
        if not skip_group_by_token and not self._match(TokenType.GROUP_BY):
            return None
        start = self._curr
        if self._match(TokenType.ALL):
            return self.expression(exp.Group(all=True), start)
        elements = self._parse_csv(
            lambda: (
                self._parse_grouping_sets()
                or self._parse_cube_or_rollup()
                or self._parse_alias(self._parse_disjunction(), explicit=True)
            )
        )
        self._refuse_trailing_comma()
        return self.expression(exp.Group(expressions=elements), start)

    def _reserve(self, query: Any, clause: str, start: Token) -> Any:
        reserved = [*(query.args.get("reserved") or []), (clause, self._since(start))]
        query.set("reserved", reserved)
        return query

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        # The library tries a table after a comma and forgets why it failed.
        if self._match(TokenType.COMMA):
            comma = self._prev
            if not self._curr:
                self._refuse('something is missing after ","', token=comma)
            return self.expression(exp.Join(this=self._parse_table(), kind="CROSS"))
        join = super()._parse_join(*args, **kwargs)
        if join is not None and self._prev.token_type in (TokenType.ON, TokenType.USING):
            word = self._prev.text.upper()
            self._refuse(f'something is missing after "{word}"', token=self._prev)
        if join is not None and join.args.get("using") == []:
            self._refuse('the name of a column is missing, found ")"', token=self._prev)
        return join

    def _parse_from(self, *args: Any, **kwargs: Any) -> exp.From | None:
        if self._match(TokenType.FROM, advance=False) and not self._next:
            self._refuse('something is missing after "FROM"')
        return super()._parse_from(*args, **kwargs)

    def _refuse_trailing_comma(self) -> None:
        """The library overlooks a comma at the end of a list."""
        if self._prev and self._prev.token_type == TokenType.COMMA:
            self._refuse(f'something is missing after ","{self._found()}', token=self._prev)

    def _parse_function_args(self, alias: bool = False) -> list[exp.Expr]:
        arguments = super()._parse_function_args(alias)
        self._refuse_trailing_comma()
        return arguments

    def _parse_function(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        token = self._curr
        call = super()._parse_function(*args, **kwargs)
        if call is not None and call.meta.get("start") is None:
            call.update_positions(token)
        return call

    def _parse_order(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        order = super()._parse_order(*args, **kwargs)
        self._refuse_trailing_comma()
        return order

    # Streams out of relations: SELECT ISTREAM …

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        """`SELECT ISTREAM(a, b)`, `SELECT ISTREAM DISTINCT a` and `SELECT ISTREAM a, b`."""
        word = self._word()
        if word not in STREAM_OPERATORS or not self._starts_list(self._index + 1):
            select = self._prev
            listed = super()._parse_projections()
            self._refuse_trailing_comma()
            if not listed[0]:
                self._refuse("the select list is empty", token=select)
            return listed
        token = self._curr
        self._advance()
        wrapped = self._curr.token_type == TokenType.L_PAREN and self._closes_the_list()
        if wrapped:
            self._advance()
        distinct = self._match(TokenType.DISTINCT)
        projections, exclude = super()._parse_projections()
        self._refuse_trailing_comma()
        if wrapped:
            self._expect(TokenType.R_PAREN, ")")
        marker = exp.Anonymous(this=word).update_positions(token)
        marker.set("marks_distinct", distinct)
        return [marker, *projections], exclude

    def _starts_list(self, index: int) -> bool:
        """Whether a select list can begin here; else the word before is a column's name."""
        kinds = [token.token_type for token in self._tokens[index : index + 2]]
        if not kinds:
            return False
        if kinds[0] == TokenType.STAR:  # SELECT ISTREAM * FROM, not SELECT istream * 2
            return kinds[1:] in ([TokenType.FROM], [TokenType.COMMA], [TokenType.R_PAREN], [])
        continues = {
            TokenType.COMMA,
            TokenType.ALIAS,
            TokenType.FROM,
            TokenType.R_PAREN,
            TokenType.L_BRACKET,
            *self.COLUMN_OPERATORS,
            *self.FACTOR,
            *self.TERM,
            *self.BITWISE,
            *self.EQUALITY,
            *self.COMPARISON,
            *self.CONJUNCTION,
            *self.DISJUNCTION,
            *self.RANGE_PARSERS,
        }
        return kinds[0] not in continues

    def _closes_the_list(self) -> bool:
        """Whether the parenthesis here encloses the whole select list."""
        depth = 0
        for i in range(self._index, len(self._tokens)):
            kind = self._tokens[i].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if depth == 0:
                after = self._tokens[i + 1].token_type if i + 1 < len(self._tokens) else None
                return after in (None, TokenType.FROM, TokenType.R_PAREN)
        return True


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
