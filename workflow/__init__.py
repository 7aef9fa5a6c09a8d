"""The paper: its experiments as values, the rules and scripts that carry them out, and what is made of the numbers."""
