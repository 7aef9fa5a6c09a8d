"""Named arrays in files."""

import numpy as np
import pytest

from tests.helpers import damage
from workflow.jobs.arrays import load_arrays, save_arrays


def test_arrays_are_read_back_as_they_were(tmp_path):
    arrays = {"test/probabilities": np.eye(3, dtype=np.float32), "cost": np.array('{"widths": [1]}')}
    save_arrays(tmp_path / "new" / "said.npz", arrays)
    read = load_arrays(tmp_path / "new" / "said.npz")
    assert list(read) == list(arrays)
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["said.npz"]


@pytest.mark.parametrize("how", ["truncated", "altered", "empty"])
def test_a_damaged_file_is_named_with_the_remedy(how, tmp_path):
    path = tmp_path / "said.npz"
    save_arrays(path, {"test/data": np.arange(1000.0)})
    damage(path, how)
    with pytest.raises(
        ValueError, match=r"said\.npz is damaged \(.*\)\. Move it away and run the same command again\."
    ):
        load_arrays(path)
