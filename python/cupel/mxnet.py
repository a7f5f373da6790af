"""There is no adapter for MXNet: its training loops save by cupel.Hook."""

raise ImportError(
    "cupel has no adapter for MXNet; save by hand with cupel.Hook: hook.next_step() and "
    "hook.save_tensor(name, value) in the training loop"
)
