"""What each verb of mini-infer does, a file for each, and what several of them share."""
