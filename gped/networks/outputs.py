"""What is asked of any module before it is used as a network: that it takes the inputs, and gives a row for each."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gped.inputs import Inputs


def outputs_of(network: Callable[[Tensor], Any], x: Tensor) -> Tensor:
    """The outputs for these inputs; refused with a sentence if they are not a row of numbers for each."""
    try:
        outputs = network(x)
    except RuntimeError as error:
        hint = ""
        if "view" in str(error):
            hint = " Inputs are in channels-last memory, where convolutions are fastest: use .flatten or .reshape."
        raise ValueError(
            f"the network cannot take inputs of shape {tuple(x.shape[1:])} in single precision: {error}.{hint}"
        ) from error
    if not isinstance(outputs, Tensor):
        raise ValueError(
            f"the network returns a {type(outputs).__name__}: it must return one tensor. Wrap it in a module that "
            "picks the outputs out of it."
        )
    if outputs.dim() != 2 or len(outputs) != len(x):
        raise ValueError(
            f"the network turned {len(x)} inputs into outputs of shape {tuple(outputs.shape)}: it must give one row of "
            "outputs for each input."
        )
    return outputs


@torch.no_grad()
def count_outputs(network: Callable[[Tensor], Any], inputs: Inputs) -> int:
    """The number of outputs, by asking the network once."""
    return outputs_of(network, inputs[:1]).shape[1]


def check_normalisation(network: nn.Module, sampled: bool = False) -> None:
    """Refuse batch normalisation that is not a function of the parameters and one input.

    In evaluation mode it uses the statistics that it has collected. They are no parameters: a chain keeps them as they
    are. Where there are none, what a draw says of an input would depend on the others in its batch, or nothing would
    be normalised.

    Args:
        network: In which it may be.
        sampled: Whether a chain is to move its parameters, so that its statistics must be there before.
    """
    for name, module in network.named_modules():
        if not isinstance(module, nn.modules.batchnorm._BatchNorm):
            continue
        if module.running_mean is None:
            raise ValueError(
                f"the layer {name!r} of the network normalises by the statistics of a batch, so that what it says of "
                "an input depends on others: use one with track_running_stats, or GroupNorm or LayerNorm."
            )
        if sampled and module.num_batches_tracked is not None and not module.num_batches_tracked:
            raise ValueError(
                f"the layer {name!r} of the network is a {type(module).__name__} that has seen no data yet, and a "
                "chain does not change its statistics: train the network a little first, so that it has some, or use "
                "GroupNorm or LayerNorm."
            )
