"""Attention: by rows, by blocks of keys, for few queries; linear attention."""
