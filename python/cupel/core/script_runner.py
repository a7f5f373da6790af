"""Runs a script, as `python SCRIPT ARGUMENT...` does, with a hook that the script does not know."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from typing import Callable, ContextManager

from ..exceptions import SMDebugError

__all__ = ["run_script"]


def run_script(
    program: str, usage: str, arguments: list[str], watch: Callable[[], ContextManager[object]]
) -> int:
    """Runs the script that the arguments begin with; returns an exit code.

    program: the name that begins each message to the user, such as cupel.xgboost.
    usage: the text for --help, and for a call without a script.
    watch: makes the hook; its context ends when the script does. An SMDebugError of the hook's
        configuration becomes a message, and the script does not run.

    What the script raises leaves the call.
    """
    if not arguments or arguments[0].startswith("-"):
        is_help = arguments[:1] in (["-h"], ["--help"])
        print(usage, file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    script = arguments[0]
    if not os.path.exists(script):
        print(f"{program}: there is no script {script}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(watch())
        except SMDebugError as error:
            print(f"{program}: {error}", file=sys.stderr)
            return 2
        sys.argv = list(arguments)
        # Python begins the path with the directory of a script, unless the path is to be safe.
        if not getattr(sys.flags, "safe_path", False):
            sys.path[0] = os.path.dirname(os.path.abspath(script))
        runpy.run_path(script, run_name="__main__")
    return 0
