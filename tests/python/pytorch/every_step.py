"""A hook that saves at every step, and not at each 500th as by default."""

from __future__ import annotations

from typing import Any

import cupel.pytorch as smd


def every_step(run: str, **options: Any) -> smd.Hook:
    """A hook with the options, due at every step unless they say otherwise."""
    options.setdefault("save_config", smd.SaveConfig(save_interval=1))
    return smd.Hook(run, **options)
