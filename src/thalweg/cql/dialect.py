"""CQL as a dialect of sqlglot: Spark's SQL plus windows, streams and statements.

The library parses SQL; only what CQL adds is written here.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

from thalweg.cql.statement_parser import CqlParser


class Cql(Spark):
    class Tokenizer(Spark.Tokenizer):
        # Words that would make the library pass the rest of a statement through unread.
        COMMANDS: ClassVar[set[TokenType]] = set()
        # A doubled quote is a quote, as in Spark.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    Parser = CqlParser
