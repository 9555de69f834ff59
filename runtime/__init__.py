"""What exists while a model runs: engine, plan, execution contexts, storage and the back ends."""
