"""Text from language models: what a model's interface is called, its caches, and the loop over tokens."""
