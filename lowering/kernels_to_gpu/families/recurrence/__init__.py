"""GPU code of recurrent layers (LSTM, GRU, RNN)."""
