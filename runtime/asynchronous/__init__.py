"""Runs beside their callers: cancellation and time limits, runs in the background, requests in batches."""
