"""The logger of cupel, to which the engine's log lines go."""

from __future__ import annotations

import logging
import sys

from .. import _native

__all__ = ["get_logger"]

_NAME = "cupel"
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


class _Fallback(logging.Handler):
    """Writes to standard error as long as the program has set up no handlers of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = logging.getLogger(_NAME)
        if logging.getLogger().handlers and logger.propagate:
            return
        if any(handler is not self for handler in logger.handlers):
            return
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:  # As logging does: an error while logging never ends the program.
            self.handleError(record)


def _set_up() -> logging.Logger:
    logger = logging.getLogger(_NAME)
    handler = _Fallback()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    logger.addHandler(handler)
    if logger.level == logging.NOTSET:
        level = _native.log_level()
        logger.setLevel(_LEVELS[level] if level >= 0 else logging.CRITICAL + 1)
    return logger


_logger = _set_up()


def get_logger() -> logging.Logger:
    """The logger `cupel` of the module `logging`.

    Its level is what CUPEL_LOG_LEVEL (else SMDEBUG_LOG_LEVEL) names: debug, info, warning (the
    default), error or off. Where the program sets up no handlers, lines go to standard error.
    """
    return _logger


def _emit(level: int, message: str) -> None:
    """Passes a line of the engine to logging."""
    _logger.log(_LEVELS[level], "%s", message)


_native.pass_on_log_lines()  # those that came before the import
