"""Names of environment variables and files."""

__all__ = [
    "CONFIG_FILE_PATH_ENV_STR",
    "DEFAULT_COLLECTIONS_FILE_NAME",
    "DEFAULT_WORKER_NAME",
    "INCOMPLETE_STEP_WAIT_WINDOW_KEY",
]

#: The environment variable that names the JSON configuration of a hook.
CONFIG_FILE_PATH_ENV_STR = "SMDEBUG_CONFIG_FILE_PATH"
#: The worker of a program that runs alone.
DEFAULT_WORKER_NAME = "worker_0"
#: The collections file of that worker.
DEFAULT_COLLECTIONS_FILE_NAME = f"{DEFAULT_WORKER_NAME}_collections.json"
#: The environment variable with the number of steps that may wait for workers.
INCOMPLETE_STEP_WAIT_WINDOW_KEY = "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"
