"""The least peak of live bytes over all orders of calls: problems, proofs and their checker. It knows no IR."""
