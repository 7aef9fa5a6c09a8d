"""A student from a folder of labelled images, without code: what `gped distill` reads, chooses, does and says."""
