"""What any module costs, by counting while it computes."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def measured_cost(network: nn.Module, input_shape: tuple[int, ...]) -> tuple[int, int]:
    """Parameters of a module, and its multiply-adds for one input, as torch counts them; see `gped.cost`."""
    example = torch.zeros(1, *input_shape, device=next(network.parameters()).device)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network.eval()(example)
    return sum(parameter.numel() for parameter in network.parameters()), counter.get_total_flops() // 2
