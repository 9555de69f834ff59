"""What is done along rows: softmax, norms, reductions, local response normalisation."""
