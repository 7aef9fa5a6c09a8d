"""Members of an ensemble that are not simply a list of modules: they are made when they are asked for, one at a time.

Anything that has a length, and for each number up to it a function from inputs to outputs, is a sequence of members.
"""

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from gped.networks.network import Dropout
from gped.networks.outputs import check_normalisation
from gped.support.checks import whole
from gped.support.randomness import drawing_from, stream

Member = Callable[[Tensor], Tensor]


class _Members(Sequence[Member]):
    """A sequence whose items are made by `_member`."""

    _count: int

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Member: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Member]: ...
    def __getitem__(self, number: int | slice) -> Member | Sequence[Member]:
        if isinstance(number, slice):
            return [self._member(one) for one in range(self._count)[number]]
        return self._member(range(self._count)[number])

    def _member(self, number: int) -> Member:
        raise KeyError(number)


class Saved(_Members):
    """Networks of one kind whose parameters are in files or state dicts; only one of them is in memory at a time.

    Args:
        parameters: For each member a state dict, or the path of a file with one: safetensors, or written by torch.save.
            Nothing but tensors is read from it.
        factory: Makes the network that they are the parameters of.
    """

    def __init__(
        self, parameters: Sequence[str | os.PathLike[str] | dict[str, Tensor]], factory: Callable[[], nn.Module]
    ) -> None:
        if isinstance(parameters, str | os.PathLike | dict):
            raise ValueError("the parameters are those of one member: pass a list with one for each.")
        self._parameters = [one if isinstance(one, dict) else Path(one) for one in parameters]
        self._count = len(self._parameters)
        for path in self._parameters:
            if isinstance(path, Path) and not path.is_file():
                raise FileNotFoundError(f"there is no file {path} with the parameters of a member.")
        self._network = factory().eval()
        check_normalisation(self._network)
        self._loaded: int | None = None

    def _member(self, number: int) -> Member:
        if number != self._loaded:
            self._loaded = None  # until the new parameters are complete
            where = self._parameters[number]
            try:
                self._network.load_state_dict(where if isinstance(where, dict) else _read(where))
            except RuntimeError as error:
                what = where if isinstance(where, Path) else f"the state dict of member {number}"
                raise ValueError(f"{what} does not have the parameters of the factory's network: {error}.") from error
            self._loaded = number
        return self._network


def _read(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}.") from error
    except Exception as error:  # torch raises what the file makes it stumble over
        raise ValueError(
            f"{path} holds more than tensors, or is damaged, and is not read. Save network.state_dict() with "
            "safetensors or torch.save."
        ) from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"{path} holds no state dict: save network.state_dict() into it.")
    return content


class MonteCarloDropout(_Members):
    """One network with its dropout left on: each member is what it says with other units dropped.

    Args:
        network: A module with dropout layers, torch's or those of a `gped.Network`. A copy of it is used; everything
            but dropout stays in evaluation mode.
        draws: How many members to take it for.
        seed: Of the dropped units. Each member drops its own, the same whenever it is asked about the same inputs.
    """

    def __init__(self, network: nn.Module, draws: int = 100, seed: int = 0) -> None:
        self._count = whole("draws of Monte Carlo dropout", draws, 1)
        self._network = copy.deepcopy(network).eval()
        self._seed = seed
        check_normalisation(self._network)
        dropping = [one for one in self._network.modules() if isinstance(one, nn.modules.dropout._DropoutNd) and one.p]
        self._own = [one for one in self._network.modules() if isinstance(one, Dropout) and one.rate]
        if not dropping and not self._own:
            raise ValueError(
                "the network has no layers such as torch.nn.Dropout with a rate above 0, so that all its members would "
                "say the same."
            )
        for module in (*dropping, *self._own):
            module.train()

    def _member(self, number: int) -> Member:
        def member(x: Tensor) -> Tensor:
            generator = stream(self._seed, f"Monte Carlo dropout {number}", x.device)
            for module in self._own:
                module.generator = generator
            if self._own:  # a network of ours, which draws from nothing else
                return self._network(x)
            with drawing_from(generator):
                return self._network(x)

        return member


class Drawn(_Members):
    """Members that a function gives: draws of a Laplace approximation, of another library's sampler, of anything.

    Args:
        draw: From a number below `draws` to a function from inputs to outputs, such as a module in evaluation mode. The
            same number must always give the same one.
        draws: How many there are.
    """

    def __init__(self, draw: Callable[[int], Member], draws: int) -> None:
        self._count = whole("draws", draws, 1)
        self._draw = draw

    def _member(self, number: int) -> Member:
        member = self._draw(number)
        if isinstance(member, nn.Module):
            check_normalisation(member)
        if not callable(member):
            raise ValueError(
                f"draw {number} is a {type(member).__name__}: it must be a function from inputs to outputs, such as a "
                "module."
            )
        return member
