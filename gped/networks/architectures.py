"""The paper's three architectures, as numbers: no torch needed to count or compare them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, prod

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Architecture:
    """Unpadded convolutions, each with 2×2 max pooling, then linear layers; ReLU between all of them.

    Args:
        input_shape: Shape of one input: (channels, height, width), or any shape if there are no convolutions.
        channels: Output channels of each convolution; empty for a fully connected network.
        kernel: Side of the square kernels.
        hidden: Units of each hidden linear layer. The output layer is not part of the architecture,
            because its size depends on what is distilled.
    """

    input_shape: Shape
    channels: tuple[int, ...]
    kernel: int
    hidden: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("input_shape", "channels", "hidden"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.input_shape or min(self.input_shape) < 1:
            raise ValueError(f"input_shape is {self.input_shape}: every side must be at least 1.")
        if any(width < 1 for width in self.channels + self.hidden):
            raise ValueError(
                f"channels {self.channels} and hidden {self.hidden} must all be at least 1: a layer without "
                "units lets nothing through. Use a larger multiplier or width."
            )
        if self.channels:
            if len(self.input_shape) != 3:
                raise ValueError(f"input_shape is {self.input_shape}: convolutions need (channels, height, width).")
            if self.kernel < 1:
                raise ValueError(f"kernel is {self.kernel}: convolutions need a kernel of at least 1.")
            for side in self.input_shape[1:]:
                for _ in self.channels:
                    side = (side - self.kernel + 1) // 2
                if side < 1:
                    raise ValueError(
                        f"input_shape {self.input_shape} is too small for {len(self.channels)} convolutions of "
                        f"kernel {self.kernel} with pooling: nothing is left. Use fewer or smaller kernels."
                    )

    def scaled(self, k1: float = 1, k2: float = 1) -> "Architecture":
        """The same layers, widened: K1 on the convolutions, K2 on the hidden linear layers.

        Without convolutions, K1 is for the first hidden layer and K2 for the others. Widths are rounded down.
        """
        if self.channels:
            return replace(self, channels=_times(self.channels, k1), hidden=_times(self.hidden, k2))
        return replace(self, hidden=_times(self.hidden[:1], k1) + _times(self.hidden[1:], k2))

    @property
    def spatial_shapes(self) -> list[tuple[int, int]]:
        """Height and width of each convolution's output, before pooling."""
        shapes = []
        sides = self.input_shape[1:]
        for _ in self.channels:
            height, width = (side - self.kernel + 1 for side in sides)
            shapes.append((height, width))
            sides = (height // 2, width // 2)
        return shapes

    @property
    def features(self) -> int:
        """Inputs of the first linear layer."""
        if not self.channels:
            return prod(self.input_shape)
        height, width = self.spatial_shapes[-1]
        return self.channels[-1] * (height // 2) * (width // 2)

    def weight_shapes(self, outputs: int) -> list[Shape]:
        """Shape of each layer's weights, as torch has them; the last is that of the output layer."""
        shapes, depth, fan_in = list[Shape](), self.input_shape[0], self.features
        for units in self.channels:
            shapes.append((units, depth, self.kernel, self.kernel))
            depth = units
        for units in (*self.hidden, outputs):
            shapes.append((units, fan_in))
            fan_in = units
        return shapes


def _times(widths: tuple[int, ...], multiplier: float) -> tuple[int, ...]:
    if not 0 < multiplier < float("inf"):
        raise ValueError(f"the width multiplier {multiplier} must be a positive number.")
    exact = Fraction(str(multiplier))  # 0.29 × 100 is 29, not the float's 28.999…
    return tuple(floor(width * exact) for width in widths)


FCNN_MNIST = Architecture(input_shape=(1, 28, 28), channels=(), kernel=0, hidden=(400, 400))
CNN_MNIST = Architecture(input_shape=(1, 28, 28), channels=(10, 20), kernel=4, hidden=(80,))
CNN_CIFAR10 = Architecture(input_shape=(3, 32, 32), channels=(16, 32), kernel=5, hidden=(200, 50))
