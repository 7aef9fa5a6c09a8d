"""Generalized Bayesian posterior expectation distillation.

One SGLD chain samples the posterior of a network (the teacher) and speaks in readings; any number of students listen
and learn posterior expectations:

    chain = gped.Chain(network, images, labels, unlabelled, gped.SGLD(4e-6), steps=10**5, burn_in=1000, thinning=10)
    student, = gped.distill(chain, [gped.joint(gped.FCNN_MNIST, classes=10, steps=10**5, thinning=10)])
    prediction = student.predict(test_images)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gped import cost, data, metrics, uncertainty
    from gped.architectures import CNN_CIFAR10, CNN_MNIST, FCNN_MNIST, Architecture
    from gped.chain import Chain, ChainDivergedError, categorical
    from gped.checkpoint import Checkpoint, StoppedError
    from gped.deployment import export_onnx, write_csv
    from gped.distillation import Learner, StudentDivergedError, distill
    from gped.expectations import Expectation, entropy, log_predictive, predictive, variance
    from gped.folder import ImageFolder, image_folder
    from gped.heads import Dirichlet, Exponential, Linear, Softmax
    from gped.inputs import Inputs, Scaling
    from gped.networks import Network
    from gped.pruning import GroupLasso
    from gped.randomness import stream
    from gped.readings import Reading, ReadingsInfo, Recorder, Recording, record
    from gped.reference import Reference
    from gped.sampler import Noise, PolynomialDecay, Sampler
    from gped.sghmc import SGHMC
    from gped.sgld import SGLD
    from gped.students import (
        Prediction,
        Student,
        StudentSpec,
        Target,
        bayesian_dark_knowledge,
        end2,
        joint,
        load_student,
    )

# Where each public name lives. They are imported when first used: most of them need torch, which takes seconds to
# import, and those who count multiply-adds or compute metrics should not wait for it.
_HOME = {
    "architectures": ["Architecture", "FCNN_MNIST", "CNN_MNIST", "CNN_CIFAR10"],
    "chain": ["Chain", "ChainDivergedError", "categorical"],
    "checkpoint": ["Checkpoint", "StoppedError"],
    "deployment": ["export_onnx", "write_csv"],
    "distillation": ["Learner", "StudentDivergedError", "distill"],
    "expectations": ["Expectation", "predictive", "entropy", "variance", "log_predictive"],
    "folder": ["ImageFolder", "image_folder"],
    "heads": ["Softmax", "Exponential", "Linear", "Dirichlet"],
    "inputs": ["Inputs", "Scaling"],
    "networks": ["Network"],
    "pruning": ["GroupLasso"],
    "randomness": ["stream"],
    "readings": ["Reading", "ReadingsInfo", "Recorder", "Recording", "record"],
    "reference": ["Reference"],
    "sampler": ["Noise", "PolynomialDecay", "Sampler"],
    "sghmc": ["SGHMC"],
    "sgld": ["SGLD"],
    "students": [
        "Prediction",
        "Student",
        "StudentSpec",
        "Target",
        "bayesian_dark_knowledge",
        "end2",
        "joint",
        "load_student",
    ],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = ["cost", "data", "metrics", "uncertainty"]
__all__ = sorted([*_MODULE_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gped.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gped' has no attribute {name!r}")
    return getattr(importlib.import_module(f"gped.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
