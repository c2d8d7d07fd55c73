"""Every estimator of arrays, with settings that are quick."""

from raremetric import (
    GMML,
    IML,
    IMLCV,
    ITML,
    LMNN,
    MLFP,
    BalancedDiscriminant,
    BoostedLeaves,
    Euclidean,
    ImportanceWeights,
    KernelLandmarks,
    MetricKNNClassifier,
    RareClassifier,
)

ESTIMATORS = [
    IML(),
    IMLCV([{"margin": 1.0}, {"margin": 10.0}], cv=2, random_state=0),
    LMNN(),
    ITML(random_state=0),
    GMML(random_state=0),
    MLFP(),
    Euclidean(),
    BalancedDiscriminant(),
    BoostedLeaves(5, random_state=0),
    ImportanceWeights(n_estimators=5, random_state=0),
    KernelLandmarks(n_landmarks=10, random_state=0),
    MetricKNNClassifier(Euclidean(), vote="score", cv=2, random_state=0),
    RareClassifier(1e-6, random_state=0),
]
