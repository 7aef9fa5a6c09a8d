"""What runs say of the predictions in docs/predictions.md: a module for each set of runs."""
