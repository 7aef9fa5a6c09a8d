"""Fetch, check and decode one set of images.

A set that is listed as optional and cannot be had becomes an empty one; the tables leave its rows empty.
"""

import logging

import numpy as np

from gped.data import DataError, ImageSet, entry_of, load
from workflow.scripts import jobs


def main() -> None:
    """Write the set to --output."""
    job = jobs.arguments(__doc__, "settings", "cache", "output")
    settings = job.settings
    name, split = settings["name"], settings["split"]
    try:
        images = load(name, split, settings["root"], job.cache, settings["unofficial"])
    except DataError as error:
        if not settings["optional"]:
            raise
        logging.warning("%s cannot be had and is optional, so its rows stay empty: %s", name, error)
        empty = np.zeros((0, *entry_of(name).shape), np.uint8)
        images = ImageSet(name, empty, np.zeros(0, np.int64), f"not available: {error}")
    logging.info("%s %s: %d images from %s", name, split, len(images), images.source)
    images.save(job.output)


if __name__ == "__main__":
    jobs.run(main)
