"""cupel: saves tensors out of a training, and judges the training by rules while it runs."""
