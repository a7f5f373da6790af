"""Helpers for scripts that analyse runs."""
