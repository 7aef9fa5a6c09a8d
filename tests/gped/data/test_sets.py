"""One door to all sets: what is not there gets a sentence, and a damaged cache is not trusted."""

import pytest

from gped import data


def test_unknown_sets_and_splits_get_a_sentence_with_a_suggestion():
    with pytest.raises(ValueError, match=r"no set 'mnist'. Did you mean MNIST"):
        data.load("mnist", "train")
    with pytest.raises(ValueError, match="SVHN has no split 'train', only test"):
        data.load("SVHN", "train")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", None], ids=["empty", "foreign", "truncated"])
def test_a_damaged_cache_is_refused_with_a_remedy(content, tmp_path):
    data.load("Textures", "test", cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1000] if content is None else content)
    with pytest.raises(data.DataError, match=r"Textures.*\.npz is damaged .*Move it away and run again"):
        data.load("Textures", "test", cache=tmp_path)
