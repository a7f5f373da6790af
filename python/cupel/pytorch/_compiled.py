"""Compiled models: how the inside of one is seen at the steps at which something of it is due."""

from __future__ import annotations

import logging
from typing import Any

import torch

from . import _torch

__all__ = ["Stance"]

_log = logging.getLogger("cupel")


class Stance:
    """Whether compiled code runs eagerly: at due steps where the hook has compiled="eager".

    The stance of the compiler holds for the whole process, and for calls that begin later; it is
    taken back to the one that the user had. Where the callback of a root runs within a compiled call, that
    call is left too, and the stance is taken back as soon as the call has ended.
    """

    def __init__(self, compiled: str) -> None:
        self.wants_eager = compiled != "boundary"
        self.is_in_call = False
        """The step begins within a compiled call."""
        self.leaves_call = False
        """The rest of the compiled call is to run eagerly."""
        self._eager: Any = None  # what holds the user's stance as long as ours is set

    def run_eagerly(self) -> None:
        """Has compiled code run eagerly from now on, where that was asked for."""
        if not self.wants_eager or not _torch.compiler_is_loaded():
            return
        self.leaves_call = self.is_in_call
        if self._eager is None:
            set_stance: Any = getattr(getattr(torch, "compiler", None), "set_stance", None)
            if set_stance is None:
                self.wants_eager = False
                _log.warning("this torch runs no compiled code eagerly: only its boundary is seen")
                return
            self._eager = _torch.outside_of_compiler(set_stance, "force_eager")

    def restore(self) -> None:
        """Has compiled code run compiled again."""
        self.leaves_call = False
        if self._eager is not None:
            eager, self._eager = self._eager, None
            _torch.outside_of_compiler(eager.__exit__, None, None, None)

    def call_has_ended(self) -> None:
        """The compiled call in which the step began is over."""
        if self.leaves_call:
            self.restore()
