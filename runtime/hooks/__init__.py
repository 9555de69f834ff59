"""Looking at the results of kernel calls while a model runs: by a function of the user's, or for NaN and infinities."""
