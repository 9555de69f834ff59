"""CPU code of row kernels: softmax, norms, reductions, local response normalisation."""
