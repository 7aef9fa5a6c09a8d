"""Small teachers and data that several tests share."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import gped

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
TINY_DENSE = gped.Architecture(input_shape=(1, 8, 8), channels=(), kernel=0, hidden=(12, 10))
TINY_CONV = gped.Architecture(input_shape=(1, 10, 10), channels=(4, 6), kernel=3, hidden=(8,))


def random_images(architecture: gped.Architecture, count: int, name: str = "images") -> Tensor:
    shape = (count, *architecture.input_shape)
    return torch.randint(0, 256, shape, generator=gped.stream(0, name), dtype=torch.uint8)


@pytest.fixture
def make_chain() -> Callable[..., gped.Chain]:
    """A small chain on random images: 60 labelled, 40 unlabelled, 3 classes."""

    def make(architecture: gped.Architecture = TINY_DENSE, **options: object) -> gped.Chain:
        images = random_images(architecture, 60)
        labels = torch.randint(0, 3, (60,), generator=gped.stream(0, "labels"))
        settings = {"steps": 60, "burn_in": 10, "thinning": 2, "batch_size": 20, "reading_size": 15} | options
        sampler = settings.pop("sampler", gped.SGLD(1e-3))
        return gped.Chain(
            gped.Network(architecture, 3, gped.stream(0, "θ_0")),
            images,
            labels,
            random_images(architecture, 40, "unlabelled"),
            sampler,
            **settings,
        )

    return make


@pytest.fixture(scope="session")
def real_root(tmp_path_factory) -> Path:
    """The real files, laid out as a user's own download would be."""
    if not (SHARED / "unpack").exists():
        pytest.skip(f"the real data sets are not in {SHARED}")
    root = tmp_path_factory.mktemp("real")
    subprocess.run([sys.executable, SHARED / "unpack", root], check=True, capture_output=True)
    return root
