"""CPU code of attention: by rows, by blocks of keys, for few queries; and linear attention."""
