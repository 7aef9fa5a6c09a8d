"""Networks: the paper's architectures as numbers and as modules, what they cost, and how dead units are removed."""
