"""The numbers that the paper prints, for comparison."""

from __future__ import annotations

__all__ = ["PUBLISHED_FILES", "TABLE_1", "TABLE_2"]

# in-distribution -> set -> measure -> AUROC of EU, mean and standard deviation over five runs
# (Table 1; n in the denominator, as NumPy's default in the published code). The paper's deviation
# of the first number, 0.18, is a misprint of .018.
TABLE_1 = {
    "fashion-mnist": {
        "mnist": {
            "variance": (0.882, 0.018),
            "label-wise entropy": (0.894, 0.017),
            "entropy": (0.895, 0.017),
        },
        "kmnist": {
            "variance": (0.959, 0.005),
            "label-wise entropy": (0.967, 0.004),
            "entropy": (0.969, 0.004),
        },
    },
    "cifar10": {
        "svhn": {
            "variance": (0.761, 0.022),
            "label-wise entropy": (0.745, 0.027),
            "entropy": (0.760, 0.026),
        },
        "cifar10.2": {
            "variance": (0.999, 0.001),
            "label-wise entropy": (1.000, 0.001),
            "entropy": (0.998, 0.002),
        },
    },
}

# data -> kind of drop -> column -> mean and deviation (Table 2; n in the denominator)
TABLE_2 = {
    "fashion-mnist": {
        "absolute": {
            "selected": (0.0070, 0.0006),
            "others": (0.0018, 0.0000),
            "next highest": (0.0029, 0.0000),
        },
        "relative": {
            "selected": (0.7934, 0.0616),
            "others": (0.3872, 0.0000),
            "next highest": (0.5619, 0.0000),
        },
    },
    "cifar10": {
        "absolute": {
            "selected": (0.0057, 0.0011),
            "others": (0.0023, 0.0000),
            "next highest": (0.0031, 0.0000),
        },
        "relative": {
            "selected": (0.5815, 0.0304),
            "others": (0.3682, 0.0000),
            "next highest": (0.4630, 0.0000),
        },
    },
}
PUBLISHED_FILES = {"fashion-mnist": "fmnist", "cifar10": "cifar"}
"""What the authors' file names call the data sets."""
