"""The reproduction a second time, as simply as it can be written: by loops and definitions.

Nothing here knows the library or the workflow, whose results it is there to doubt. It reads the configuration, the
decoded images and the files of a run, and takes from docs and protocol what they say of masks, chains and students. The
names of random streams are part of what is said: with others the numbers would be others.
"""
