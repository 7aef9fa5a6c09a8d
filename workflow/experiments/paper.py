"""What the paper fixes besides its models: the length of its chains, its sets, and the words of its tables."""

PAPER_STEPS = 10**6
"""T of every published chain."""
TRAINING_IMAGES = {"MNIST": 60_000, "CIFAR10": 50_000}
"""How many the published sets have. Experiment 1 is about all of them."""
PAPER_SETS = frozenset(TRAINING_IMAGES)
"""The published training sets."""
SET_OF = {"fcnn_mnist": "MNIST", "cnn_mnist": "MNIST", "cnn_cifar10": "CIFAR10"}
"""By models, what each is trained on."""
ESTIMATORS = {"us": "U_s", "uo": "U_o"}
"""By their names in files, as they are printed."""
SIZES = {"base": "base students", "large": "largest students"}
"""Sizes of the students of experiment 4: the teacher's own, and the largest of the search."""
