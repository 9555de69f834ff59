"""A day with a GPU: all that is to be measured and checked there, in parts; __main__.py runs them."""
