"""GPU code of attention, one file for each schedule."""
