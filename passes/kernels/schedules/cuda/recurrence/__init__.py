"""Schedules of recurrent layers (LSTM, GRU, RNN)."""
