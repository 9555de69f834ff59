"""Code families, in folders by what they compute: a file for each schedule that kernels are carried out by."""
