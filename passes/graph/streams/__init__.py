"""Parts of stream-rows: which rows ops read, when each turn makes which, and what that takes."""
