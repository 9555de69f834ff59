"""The verbs of mini-infer, one file each: options and their compatibility. What they do is imported when it starts."""
