"""Image sets: the paper's from their official files, small ones that need no download, and what is done to them.

digits = gped.data.load("MNIST", "train", root="data")     # downloads what is not there
little = gped.data.load("MNIST5k", "train")                # embedded: no download
"""

from gped.data.images import DataError, ImageSet, true_name
from gped.data.manipulations import at_most, mask, nested_subsample
from gped.data.sets import EMBEDDED, OFFICIAL, entry_of, load
from gped.data.transformations import copies

__all__ = [
    "EMBEDDED",
    "OFFICIAL",
    "DataError",
    "ImageSet",
    "at_most",
    "copies",
    "entry_of",
    "load",
    "mask",
    "nested_subsample",
    "true_name",
]
