"""Engines that take turns and what is told of them (`mini-infer bench`); programs that measure, each by itself."""
