"""Files of rules in Python, as the command line and `RuleRunner.add("my.py:Class")` read them.

The engine calls `read_rule_file()`, which runs the file as a module of its own and describes its
rules in plain dictionaries. Mistakes of the file are results, not exceptions.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
import sys
import traceback
import types
import typing
import zlib
from typing import Any, Callable, Dict, List, Optional, Tuple

__all__ = ["read_rule_file"]

_OF_RULE = ("base_trial", "action_str", "other_trials")
Problem = Dict[str, Any]


def read_rule_file(path: str) -> Dict[str, Any]:
    """Runs a file, and returns its rules, its other names, and what is wrong with it."""
    found: Dict[str, Any] = {"rules": [], "other_names": [], "errors": [], "is_readable": True}
    try:
        with open(path, "rb") as file:
            source = file.read()
    except (OSError, ValueError) as error:
        found["errors"] = [_problem(path, b"", 0, _unreadable(path, error))]
        found["is_readable"] = False
        return found
    try:
        tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        module = _run(path, tree)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a rule file does not end the program
        found["errors"] = [_problem(path, source, *_place(path, error))]
        return found
    lines = _lines_of_names(tree)
    fingerprint = str(zlib.crc32(source))
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        reason = _why_no_rule(name, value, module)
        if reason:
            line = lines.get(name, 0)
            problem = _problem(path, source, line, reason)
            found["other_names"].append({"name": name, **problem})
            continue
        try:
            found["rules"].append(_description(value, fingerprint))
        except Exception as error:
            found["errors"].append(_problem(path, source, lines.get(name, 0), f"{name}: {error}"))
    return found


def _unreadable(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file {path}"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a directory, not a file of rules"
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"


def _run(path: str, tree: Any) -> types.ModuleType:
    name = "cupel_rules_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    module = types.ModuleType(name)
    module.__file__ = path
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)  # modules beside the file, as for a script
    before = sys.modules.get(name)
    sys.modules[name] = module  # for dataclasses, pickle and inspect
    try:
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _place(path: str, error: BaseException) -> Tuple[int, str]:
    """The line of the file, and the text, of an exception while the file ran."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0, f"{type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    of_file = [frame for frame in frames if frame.filename == path]
    if not of_file:
        return 0, text
    inner = frames[-1]
    if inner.filename != path:
        text += f", at {inner.filename}:{inner.lineno}"
    return of_file[-1].lineno or 0, text


def _problem(path: str, source: bytes, line: int, message: str, hint: str = "") -> Problem:
    lines = source.splitlines()
    text = lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else ""
    texts = {"file": path, "source_line": text, "message": message, "hint": hint}
    return {"line": line, **{key: _utf8(value) for key, value in texts.items()}}


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _lines_of_names(tree: Any) -> Dict[str, int]:
    """The lines where the names of a module are defined."""
    lines: Dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            lines.setdefault(node.name, node.lineno)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines.setdefault(node.id, node.lineno)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                lines.setdefault((alias.asname or alias.name).split(".")[0], node.lineno)
    return lines


def _why_no_rule(name: str, value: Any, module: types.ModuleType) -> str:
    """Why a name of the file is not one of its rules; "" for a rule."""
    from ..rules import Rule

    if not isinstance(value, type):
        return f"{name} is no rule: it is no class"
    if not issubclass(value, Rule):
        return f"{name} is no rule: it does not derive from cupel.rules.Rule"
    if value.__module__ != module.__name__:
        return f"{name} is no rule of this file: it comes from {value.__module__}"
    if value.__name__ != name:
        return f"{name} is another name of {value.__name__}"
    if inspect.isabstract(value):
        missing = ", ".join(sorted(value.__abstractmethods__))
        return f"{name} is no whole rule: it has no {missing}"
    return ""


def _description(rule: Any, fingerprint: str) -> Dict[str, Any]:
    given = [
        each
        for each in inspect.signature(rule).parameters.values()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    own = [each for each in given[1:] if each.name not in _OF_RULE]  # the first is the base trial
    if any(each.kind is each.POSITIONAL_ONLY for each in own):
        raise TypeError("parameters of a rule are keywords, not positional only")
    names = {each.name: each for each in given}
    others = names.get("other_trials")
    summary, description = _documentation(rule)
    globals_of_rule = getattr(rule.__init__, "__globals__", {})
    return {
        "name": rule.__name__,
        "summary": _utf8(summary),
        "description": _utf8(description),
        "parameters": [_parameter(each, globals_of_rule) for each in own],
        "other_trials": 1 if others is not None and others.default is others.empty else 0,
        "fingerprint": fingerprint,
        "make": _maker(rule, names, own),
    }


def _documentation(rule: type) -> Tuple[str, str]:
    # The text of a base class is not about this rule.
    text = inspect.cleandoc(rule.__dict__.get("__doc__") or "")
    summary, _, rest = text.partition("\n")
    return summary.strip().rstrip("."), rest.strip()


def _parameter(parameter: inspect.Parameter, names: Dict[str, Any]) -> Dict[str, Any]:
    """The description of a parameter; `names` are those that its annotation may use."""
    has_default = parameter.default is not parameter.empty
    if has_default and parameter.default is not None:
        kind, text = _kind_of(parameter.default)
    else:
        kind, text = _kind_of_annotation(parameter.annotation, names), None
    return {
        "name": parameter.name,
        "kind": kind,
        "default_text": None if text is None else _utf8(text),
        "required": not has_default,
        "help": "",
    }


def _kind_of(default: Any) -> Tuple[str, Optional[str]]:
    """The kind of a parameter with this default, and the default as a user would write it."""
    from .. import _native

    if isinstance(default, bool):
        return "bool", str(default)
    if isinstance(default, int):
        return "int", str(default) if -(2**63) <= default < 2**63 else None
    if isinstance(default, float):
        return "float", repr(default) if math.isfinite(default) else None
    if isinstance(default, (list, tuple)):
        are_numbers = default and all(type(each) in (int, float) for each in default)
        text = _native.join_list([str(each) for each in default])
        return ("numbers", text) if are_numbers else ("list", text)
    return "text", default if isinstance(default, str) else None


def _kind_of_annotation(annotation: Any, names: Dict[str, Any]) -> str:
    """The kind of a parameter with this annotation; Optional[X] is the kind of X."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, dict(names))
        except Exception:  # A name that only a type checker imports.
            return "text"
    origin, of = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = {_kind_of_annotation(each, names) for each in of if each is not type(None)}
        if kinds == {"int", "float"}:
            return "float"
        return kinds.pop() if len(kinds) == 1 else "text"
    if origin in (list, tuple):
        are_numbers = of and all(each in (int, float, ...) for each in of)
        return "numbers" if are_numbers else "list"
    return {bool: "bool", int: "int", float: "float"}.get(origin, "text")


def _maker(
    rule: type, names: Dict[str, inspect.Parameter], own: List[inspect.Parameter]
) -> Callable[..., Any]:
    """A function of the base trial, the other trials and the parameters that makes the rule."""

    def make(base: Any, others: List[Any], values: Dict[str, Any]) -> Any:
        from ..exceptions import SMDebugValueError
        from ..trials import Trial

        for each in own:
            if each.name in values and isinstance(each.default, tuple):
                values[each.name] = tuple(values[each.name])
        if "other_trials" in names:
            values["other_trials"] = [Trial._of(other) for other in others]
        elif others:
            raise SMDebugValueError(f"{rule.__name__} compares with no other trials")
        if "action_str" in names:
            values["action_str"] = ""
        return rule(Trial._of(base), **values)

    return make
