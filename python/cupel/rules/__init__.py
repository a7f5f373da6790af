"""Rules: conditions over a run, evaluated step by step, by hand or by a runner."""

from .req_tensors import RequiredTensors
from .rule import Rule, RuleInterrupted
from .rule_invoker import invoke_rule
from .rule_runner import RuleRunner

__all__ = ["RequiredTensors", "Rule", "RuleInterrupted", "RuleRunner", "invoke_rule"]
