"""Register tiles: accumulators held in registers over the whole contraction, and their epilogues."""
