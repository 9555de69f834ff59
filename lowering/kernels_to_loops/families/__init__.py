"""Code families, in folders by what they compute: one file for each kind of schedule."""
