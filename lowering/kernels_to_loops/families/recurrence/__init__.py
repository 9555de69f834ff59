"""Recurrent networks: a step of time after the other."""
