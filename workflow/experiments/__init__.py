"""The paper's experiments as values: models, cells, students, tables, figures, and the configuration behind them."""
