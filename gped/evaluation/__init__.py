"""What answers are worth: metrics and uncertainties, from arrays, without torch."""
