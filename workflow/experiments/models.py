"""The paper's three models."""

from dataclasses import dataclass

from gped.networks.architectures import CNN_CIFAR10, CNN_MNIST, FCNN_MNIST, Architecture


@dataclass(frozen=True)
class Model:
    """One of the paper's teachers.

    Args:
        name: As the tables print it.
        architecture: Its network.
        is_masked: Whether the paper masks its images.
    """

    name: str
    architecture: Architecture
    is_masked: bool


MODELS = {
    "fcnn_mnist": Model("FCNN", FCNN_MNIST, is_masked=True),
    "cnn_mnist": Model("CNN", CNN_MNIST, is_masked=True),
    "cnn_cifar10": Model("CNN", CNN_CIFAR10, is_masked=False),
}
"""By their role in the paper, whatever set takes the place of MNIST or CIFAR-10."""
