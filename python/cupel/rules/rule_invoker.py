"""invoke_rule: goes through a run with one rule."""

from __future__ import annotations

from typing import Optional

from .rule import Rule, _engine_of

__all__ = ["invoke_rule"]


def invoke_rule(
    rule_obj: Rule,
    start_step: Optional[int] = 0,
    end_step: Optional[int] = None,
    raise_eval_cond: bool = False,
) -> None:
    """Invokes a rule at global steps start_step, start_step + 1, … as they come.

    `end_step` is exclusive. Steps that were not saved and tensors that are missing are passed over.
    Without `end_step` the normal end is `NoMoreData`, which is raised when the run has ended. A
    firing is logged, or with `raise_eval_cond` raised as `RuleEvaluationConditionMet`.
    """
    _engine_of(rule_obj).invoke_all(start_step or 0, end_step, bool(raise_eval_cond))
