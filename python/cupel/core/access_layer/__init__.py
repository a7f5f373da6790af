"""Files of a run that programs ask for."""
