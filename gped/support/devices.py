"""Where torch computes."""

import torch


def usable(device: torch.device | str) -> torch.device:
    """The device, if torch can compute on it here."""
    try:
        return torch.empty(0, device=device).device
    except (AssertionError, RuntimeError) as error:  # torch's, of a build without CUDA and of a machine without a GPU
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"the device {str(device)!r} cannot be used here: {reason}. Use 'cpu', or a machine and a build of torch "
            "that have it."
        ) from error
