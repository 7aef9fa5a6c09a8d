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
    from gped import data
    from gped.data.folder import ImageFolder, image_folder
    from gped.distillation import distill
    from gped.evaluation import metrics, uncertainty
    from gped.inputs import Inputs, Scaling
    from gped.networks import cost
    from gped.networks.architectures import CNN_CIFAR10, CNN_MNIST, FCNN_MNIST, Architecture
    from gped.networks.counting import measured_cost
    from gped.networks.network import Network
    from gped.networks.pruning import GroupLasso
    from gped.readings.likelihoods import Categorical, Gaussian, Likelihood
    from gped.readings.reading import Reading, ReadingsInfo
    from gped.readings.recording import Recorder, Recording, record
    from gped.sampling.chain import Chain, ChainDivergedError
    from gped.sampling.chains import Chains
    from gped.sampling.ensemble import Ensemble
    from gped.sampling.members import Drawn, MonteCarloDropout, Saved
    from gped.sampling.noise import Noise
    from gped.sampling.reference import Reference, between_chains
    from gped.sampling.sampler import PolynomialDecay, Sampler
    from gped.sampling.sghmc import SGHMC
    from gped.sampling.sgld import SGLD
    from gped.students.deployment import export_onnx, write_csv
    from gped.students.estimators import Estimator, Online, Stochastic
    from gped.students.expectations import (
        Expectation,
        entropy,
        entropy_by,
        log_predictive,
        moments,
        predictive,
        predictive_and_entropy,
        variance,
    )
    from gped.students.heads import Dirichlet, Exponential, Head, Linear, Moments, Share, Softmax
    from gped.students.learner import Learner, StudentDivergedError
    from gped.students.prediction import Prediction
    from gped.students.specification import StudentSpec, Target, bayesian_dark_knowledge, end2, joint, regression
    from gped.students.student import Student, load_student
    from gped.support.checkpoint import Checkpoint, StoppedError
    from gped.support.randomness import stream

# Where each public name lives. They are imported when first used: most of them need torch, which takes seconds to
# import, and those who count multiply-adds or compute metrics should not wait for it.
_HOME = {
    "data.folder": ["ImageFolder", "image_folder"],
    "distillation": ["distill"],
    "inputs": ["Inputs", "Scaling"],
    "networks.architectures": ["CNN_CIFAR10", "CNN_MNIST", "FCNN_MNIST", "Architecture"],
    "networks.counting": ["measured_cost"],
    "networks.network": ["Network"],
    "networks.pruning": ["GroupLasso"],
    "readings.likelihoods": ["Categorical", "Gaussian", "Likelihood"],
    "readings.reading": ["Reading", "ReadingsInfo"],
    "readings.recording": ["Recorder", "Recording", "record"],
    "sampling.chain": ["Chain", "ChainDivergedError"],
    "sampling.chains": ["Chains"],
    "sampling.ensemble": ["Ensemble"],
    "sampling.members": ["Drawn", "MonteCarloDropout", "Saved"],
    "sampling.noise": ["Noise"],
    "sampling.reference": ["Reference", "between_chains"],
    "sampling.sampler": ["PolynomialDecay", "Sampler"],
    "sampling.sghmc": ["SGHMC"],
    "sampling.sgld": ["SGLD"],
    "students.deployment": ["export_onnx", "write_csv"],
    "students.estimators": ["Estimator", "Online", "Stochastic"],
    "students.expectations": [
        "Expectation",
        "entropy",
        "entropy_by",
        "log_predictive",
        "moments",
        "predictive",
        "predictive_and_entropy",
        "variance",
    ],
    "students.heads": ["Dirichlet", "Exponential", "Head", "Linear", "Moments", "Share", "Softmax"],
    "students.learner": ["Learner", "StudentDivergedError"],
    "students.prediction": ["Prediction"],
    "students.specification": ["StudentSpec", "Target", "bayesian_dark_knowledge", "end2", "joint", "regression"],
    "students.student": ["Student", "load_student"],
    "support.checkpoint": ["Checkpoint", "StoppedError"],
    "support.randomness": ["stream"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = {
    "cost": "networks.cost",
    "data": "data",
    "metrics": "evaluation.metrics",
    "uncertainty": "evaluation.uncertainty",
}
__all__ = sorted([*_MODULE_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # here, because it takes longer to import than all the rest

        return version("gped")
    if name in _MODULES:
        return importlib.import_module(f"gped.{_MODULES[name]}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gped' has no attribute {name!r}")
    return getattr(importlib.import_module(f"gped.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
