"""From a model to an engine: import, pipeline, code generation, caching, tuning."""
