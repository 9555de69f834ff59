"""GPU code run without a GPU, to see whether it means what it should and keeps to the rules of a GPU's memory."""
