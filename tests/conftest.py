"""Small teachers, students and data that several tests share."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import gped
from tests.helpers import KINDS, SHARED, TINY_CONV, TINY_DENSE, random_images


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Matplotlib warns when many are open, and those of one test are no other's business."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


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


@pytest.fixture(params=[(TINY_DENSE, "joint"), *((TINY_CONV, kind) for kind in KINDS)], ids=lambda p: p[1])
def student(request: pytest.FixtureRequest, make_chain: Callable[..., gped.Chain]) -> gped.Student:
    """A student of each kind, after a short training."""
    architecture, kind = request.param
    spec = KINDS[kind](architecture, steps=60, thinning=6)
    (student,) = gped.distill(make_chain(architecture), [spec])
    return student
