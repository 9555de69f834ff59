"""CPU code of recurrent layers (LSTM, GRU, RNN), one time step after the other."""
