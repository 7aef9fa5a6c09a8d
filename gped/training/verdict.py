"""What a student is worth on images that were held out."""

from collections.abc import Iterator, Mapping

import numpy as np

from gped.evaluation import metrics
from gped.evaluation.uncertainty import decompose
from gped.students.prediction import Prediction
from gped.training.material import Material


def judged(said: Prediction, ensemble: Mapping[str, np.ndarray], material: Material) -> Iterator[str]:
    """How good the student is on what was held out, beside the ensemble, and beside one answer for all images.

    Of the answers that are the same for all, the best are how frequent the classes are, and the median entropy.
    """
    assert said.probabilities is not None and said.data is not None  # as a joint student is asked to
    truth, count, entropy = material.truth.numpy(), len(material.truth), ensemble["entropy"]
    frequencies = material.labels.bincount().numpy() / len(material.labels)
    answers = {
        "ensemble": (ensemble["predictive"], entropy),
        "student": (said.probabilities, said.data),
        "constant": (np.tile(frequencies, (count, 1)), np.full(count, np.median(entropy))),
    }
    yield f"{'held out':10}{'NLL':>8}{'accuracy':>10}{'entropy MAE':>13}{'total uncertainty':>22}{'knowledge':>22}"
    nll, mae = dict[str, float](), dict[str, float]()
    for who, (probabilities, data) in answers.items():
        nll[who], mae[who] = metrics.nll(probabilities, truth), metrics.entropy_mae(data, entropy)
        total, _, knowledge = decompose(probabilities, data)
        line = f"{who:10}{nll[who]:8.3f}{metrics.accuracy(probabilities, truth):10.1%}{mae[who]:13.3f}"
        yield line if who == "constant" else f"{line}{_range(total):>22}{_range(knowledge):>22}"
    yield "uncertainties are in nats: the least, the median and the greatest"
    if nll["student"] >= nll["constant"]:
        culprit = "neither is the ensemble" if nll["ensemble"] >= nll["constant"] else "the ensemble is"
        yield (
            "The student is no better than saying of every image how frequent the classes are (by NLL); "
            f"{culprit}. It is of no use yet: more --steps may help, or more images, or another --size."
        )
    elif mae["student"] >= mae["constant"]:
        yield (
            "The data uncertainty that the student says is no nearer to the ensemble's than one number for all images: "
            "do not rely on it, nor on knowledge uncertainty. More --steps may help."
        )


def _range(values: np.ndarray) -> str:
    return f"{values.min():.2f} … {np.median(values):.2f} … {values.max():.2f}"
