"""There is no adapter for TensorFlow: its training loops save by cupel.Hook."""

raise ImportError(
    "cupel has no adapter for TensorFlow; save by hand with cupel.Hook: hook.next_step() and "
    "hook.save_tensor(name, value) in the training loop"
)
