"""The test kit: for Thalweg's own tests and for users' queries."""

from thalweg.testing.expressions import Outcome, evaluate_expression

__all__ = ["Outcome", "evaluate_expression"]
