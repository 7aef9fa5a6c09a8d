"""What is made of predictions: rows of tables, their forms, figures, comparisons with the paper, and verdicts."""
