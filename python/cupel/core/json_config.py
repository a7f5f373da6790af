"""The constants of configuration files, under the name of the module that scripts import."""

from .config_constants import (
    CONFIG_FILE_PATH_ENV_STR,
    DEFAULT_COLLECTIONS_FILE_NAME,
    DEFAULT_WORKER_NAME,
    INCOMPLETE_STEP_WAIT_WINDOW_KEY,
)

__all__ = [
    "CONFIG_FILE_PATH_ENV_STR",
    "DEFAULT_COLLECTIONS_FILE_NAME",
    "DEFAULT_WORKER_NAME",
    "INCOMPLETE_STEP_WAIT_WINDOW_KEY",
]
