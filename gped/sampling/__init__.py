"""The teacher: samplers, the noise that drives them, the chain of draws, and the ensemble's expectations."""
