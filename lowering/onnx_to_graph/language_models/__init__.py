"""What a language model is called by: its inputs and outputs, and what its caches take."""
