"""The statements of a script: CREATE, DROP, SET and EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from thalweg.cql.query_parser import STREAM_OPERATORS, QueryParser
from thalweg.cql.statements import (
    ColumnDeclaration,
    ConnectorCall,
    CreateFunction,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Drop,
    Explain,
    Name,
    Option,
    SetOption,
    Statement,
)
from thalweg.cql.syntax_errors import Problem, token_span, unknown_type
from thalweg.cql.windows import Length
from thalweg.errors import QueryError, Span, did_you_mean, shortened
from thalweg.types import Type, type_from_syntax
from thalweg.units import exact_number

_STAGES = ("BOUND", "LOGICAL")
CREATABLE = ("STREAM", "TABLE", "QUERY", "VIEW", "SINK", "FUNCTION", "AGGREGATE")


class CqlParser(QueryParser):
    def cql_statement(self) -> Statement:
        start = self._curr
        if self._match(TokenType.CREATE):
            return self._create(start)
        if self._match(TokenType.DROP):
            return self._drop(start)
        if self._match(TokenType.SET):
            return self._set(start)
        if self._match_text_seq("EXPLAIN"):
            return self._explain(start)
        if self._curr.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN) or (
            self._word() in STREAM_OPERATORS
        ):
            self._refuse(
                "a query needs a name",
                hint="write CREATE QUERY name AS SELECT …",
            )
        return self._refuse(
            f'a statement cannot start with "{self._curr.text}"',
            detail="Statements start with CREATE, DROP, SET or EXPLAIN.",
            hint=did_you_mean(self._word(), ("CREATE", "DROP", "SET", "EXPLAIN")),
        )

    def _create(self, start: Token) -> Statement:
        kind = self._word()
        if kind not in CREATABLE:
            self._refuse(
                f'cannot create "{self._curr.text}"' if kind else "what to create is missing",
                detail="CREATE is followed by " + ", ".join(CREATABLE) + ".",
                hint=did_you_mean(kind, CREATABLE),
            )
        self._advance()
        match kind:
            case "STREAM":
                return self._create_stream(start)
            case "TABLE":
                return self._create_table(start)
            case "QUERY":
                name = self._name("query")
                self._expect_word("AS", f"CREATE QUERY {name}")
                return CreateQuery(name, self._query(), self._since(start))
            case "VIEW":
                return self._create_view(start)
            case "SINK":
                return self._create_sink(start)
        return self._create_function(start, aggregate=kind == "AGGREGATE")

    def _create_stream(self, start: Token) -> CreateStream:
        name = self._name("stream")
        columns = self._columns(f"stream {name}")
        time = self._name("column") if self._match_text_seq("TIMESTAMP", "BY") else None
        unit: Name | None = None
        slack: Length | None = None
        skew: Length | None = None
        key: tuple[Name, ...] = ()
        for clause in self._clauses(("UNIT", "SLACK", "SKEW", "KEY")):
            if clause == "UNIT":
                unit = self._name("unit of time")
            elif clause == "SLACK":
                slack = self._length()
            elif clause == "SKEW":
                skew = self._length()
            else:
                key = self._name_list()
        self._expect_word("FROM", f"stream {name}")
        connector = self._connector()
        return CreateStream(
            name, columns, time, unit, slack, skew, key, connector, self._since(start)
        )

    def _create_table(self, start: Token) -> CreateTable:
        name = self._name("table")
        columns = self._columns(f"table {name}")
        key: tuple[Name, ...] = ()
        refresh: Length | None = None
        for clause in self._clauses(("KEY", "REFRESH")):
            if clause == "KEY":
                key = self._name_list()
            else:
                self._match_text_seq("EVERY")
                refresh = self._length()
        self._expect_word("FROM", f"table {name}")
        return CreateTable(name, columns, key, refresh, self._connector(), self._since(start))

    def _create_view(self, start: Token) -> CreateView:
        name = self._name("view")
        columns = self._name_list() if self._curr.token_type == TokenType.L_PAREN else ()
        self._expect_word("AS", f"CREATE VIEW {name}")
        return CreateView(name, columns, self._query(), self._since(start))

    def _create_sink(self, start: Token) -> CreateSink:
        name = self._name("sink")
        self._expect_word("FROM", f"CREATE SINK {name}")
        query = self._name("query")
        self._expect_word("INTO", f"CREATE SINK {name}")
        return CreateSink(name, query, self._connector(), self._since(start))

    def _create_function(self, start: Token, aggregate: bool) -> CreateFunction:
        name = self._name("function")
        parameters = self._columns(f"function {name}", allow_empty=True)
        self._expect_word("RETURNS", f"function {name}")
        returns = self._type()
        self._expect_word("AS", f"function {name}")
        if self._curr.token_type != TokenType.STRING:
            self._refuse(
                f'function "{name}" does not say where its Python code is',
                hint="write AS 'package.module:name'",
            )
        self._advance()
        path, path_span = self._prev.text, token_span(self._prev)
        return CreateFunction(
            name, parameters, returns, path, path_span, aggregate, self._since(start)
        )

    def _drop(self, start: Token) -> Drop:
        kind = self._word()
        if kind not in CREATABLE:
            self._refuse(
                f'cannot drop "{self._curr.text}"' if kind else "what to drop is missing",
                detail="DROP is followed by " + ", ".join(CREATABLE) + ".",
            )
        self._advance()
        if_exists = self._match_text_seq("IF", "EXISTS")
        return Drop(kind, self._name(kind.lower()), if_exists, self._since(start))

    def _set(self, start: Token) -> SetOption:
        if self._match_text_seq("TIME", "ZONE"):
            name = Name("timezone", token_span(self._prev))
        else:
            name = self._dotted_name("setting")
            if not (self._match(TokenType.EQ) or self._match_text_seq("TO")):
                self._refuse(f"SET {name} needs a value", hint=f"write SET {name} = value")
        value_start = self._curr
        value = self._option_value()
        return SetOption(name, value, self._since(value_start), self._since(start))

    def _explain(self, start: Token) -> Explain:
        stage = None
        if self._word() in _STAGES and self._next:
            stage = self._word().lower()
            self._advance()
        if self._starts_query():
            return Explain(self._query(), stage, self._since(start))
        name = self._name("query")
        if self._curr:
            self._refuse(
                f'unexpected "{self._curr.text}" after "{name}"',
                token=self._prev,
                detail="EXPLAIN is followed by BOUND or LOGICAL, and a query.",
            )
        return Explain(name, stage, self._since(start))

    # Parts of statements

    def _clauses(self, words: tuple[str, ...]) -> Iterator[str]:
        """The optional clauses here, in any order, each at most once."""
        seen: set[str] = set()
        while self._match_texts(words):
            word = self._prev.text.upper()
            if word in seen:
                self._refuse(f"{word} is given twice", token=self._prev)
            seen.add(word)
            yield word

    def _dotted_name(self, what: str) -> Name:
        name = self._name(what)
        while self._match(TokenType.DOT):
            part = self._name(what)
            name = Name(f"{name}.{part}", name.span | part.span)
        return name

    def _name_list(self) -> tuple[Name, ...]:
        self._expect(TokenType.L_PAREN, "(")
        names = [self._name("column")]
        while self._match(TokenType.COMMA):
            names.append(self._name("column"))
        self._expect(TokenType.R_PAREN, ")")
        return tuple(names)

    def _columns(self, of: str, allow_empty: bool = False) -> tuple[ColumnDeclaration, ...]:
        if self._curr.token_type != TokenType.L_PAREN:
            self._refuse(f"the columns of {of} are missing", hint="write (name TYPE, …)")
        self._advance()
        columns: list[ColumnDeclaration] = []
        if not (allow_empty and self._match(TokenType.R_PAREN, advance=False)):
            columns.append(self._column())
            while self._match(TokenType.COMMA):
                columns.append(self._column())
        self._expect(TokenType.R_PAREN, ")")
        return tuple(columns)

    def _column(self) -> ColumnDeclaration:
        name = self._name("column")
        type_ = self._type()
        not_null = self._match_text_seq("NOT", "NULL")
        return ColumnDeclaration(name, type_, nullable=not not_null)

    def _type(self) -> Type:
        start = self._curr
        parsed = self._parse_types(schema=True)
        if parsed is None:
            raise Problem(unknown_type(start) if start else QueryError("a type is missing"))
        span = Span(start.start, self._prev.end + 1)
        try:
            return type_from_syntax(parsed, span)
        except QueryError as error:
            raise Problem(error) from None

    def _connector(self) -> ConnectorCall:
        start = self._curr
        name = self._name("connector")
        self._expect(TokenType.L_PAREN, "(")
        location: str | None = None
        location_span: Span | None = None
        options: list[Option] = []
        more = self._curr.token_type != TokenType.R_PAREN
        if self._match(TokenType.STRING):
            location, location_span = self._prev.text, token_span(self._prev)
            more = self._match(TokenType.COMMA)
        while more and self._curr:
            option_start = self._curr
            option = self._name("option")
            self._expect(TokenType.EQ, "=")
            options.append(Option(option, self._option_value(), self._since(option_start)))
            more = self._match(TokenType.COMMA)
        self._expect(TokenType.R_PAREN, ")")
        return ConnectorCall(name, location, tuple(options), self._since(start), location_span)

    def _option_value(self) -> Any:
        """A constant: text, a number, true, false, null, or a bare word taken as text."""
        negative = self._match(TokenType.DASH)
        token = self._curr
        if self._match(TokenType.NUMBER):
            number = exact_number(token.text)
            if number is None:
                self._refuse(f'"{shortened(token.text)}" is too long a number', token=token)
            value = int(number) if number.denominator == 1 else float(number)
            return -value if negative else value
        if negative or not token:
            self._refuse("a value is missing", hint="write text in quotes, a number, true or false")
        self._advance()
        if token.token_type == TokenType.STRING:
            return token.text
        words = {"TRUE": True, "FALSE": False, "NULL": None}
        return words.get(token.text.upper(), token.text)
