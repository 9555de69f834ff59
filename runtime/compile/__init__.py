"""From a model to an engine: import, the pipeline, the device's code, what is kept, tuning."""
