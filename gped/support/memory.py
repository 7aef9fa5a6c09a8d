"""How parameters lie in memory: one after the other, and filters channels-last, where convolutions are fastest."""

from collections.abc import Sequence

import torch
from torch import Tensor


def flat(parameters: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """One empty vector with room for all parameters, and a view of it in the shape of each."""
    first = parameters[0]
    vector = torch.empty(sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device)
    parts = vector.split([p.numel() for p in parameters])
    return vector, [_view(part, parameter) for part, parameter in zip(parts, parameters, strict=True)]


def channels_last(weight: Tensor) -> Tensor:
    """A copy of a convolution's filters.

    With one input channel torch's own conversion leaves the strides ambiguous, and the convolution then takes the slow
    way: twice as slow for the MNIST network.
    """
    return _view(weight.new_empty(weight.numel()), weight).copy_(weight)


def _view(vector: Tensor, like: Tensor) -> Tensor:
    if like.dim() != 4:
        return vector.view(like.shape)
    out, depth, height, width = like.shape
    return vector.view(out, height, width, depth).permute(0, 3, 1, 2)
