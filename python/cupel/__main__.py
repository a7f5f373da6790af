"""`python -m cupel`: the command line of cupel, whose rules may also be classes in Python."""

from __future__ import annotations

import os
import sys

from . import _native
from . import rules as rules  # before the command takes the log lines


def main() -> int:
    """Runs the command that sys.argv names, and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)  # what rules print stays in order with lines
    arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
    return _native.run_command("python -m cupel", arguments)


if __name__ == "__main__":
    sys.exit(main())
