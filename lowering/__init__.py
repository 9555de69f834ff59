"""From one level to the next; `pipelines.py` says in which order, `registry.py` which names exist."""
