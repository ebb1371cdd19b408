"""The test kit: for Thalweg's own tests and for users' queries."""

from thalweg.testing.compare import differences
from thalweg.testing.engines import ENGINES, Engine, Ran, reference, rewritten
from thalweg.testing.expressions import Outcome, evaluate_expression
from thalweg.testing.feeds import FeedRow, Feeds
from thalweg.testing.golden import Verdict, run_golden
from thalweg.testing.sections import GoldenError, GoldenScript, parse_golden, read_golden

__all__ = [
    "ENGINES",
    "Engine",
    "FeedRow",
    "Feeds",
    "GoldenError",
    "GoldenScript",
    "Outcome",
    "Ran",
    "Verdict",
    "differences",
    "evaluate_expression",
    "parse_golden",
    "read_golden",
    "reference",
    "rewritten",
    "run_golden",
]
