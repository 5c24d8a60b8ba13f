"""What decisions cost on real data: argmax, entropy threshold, Chow's rule and `decide` with an
expert to ask, before and after calibration.

    python lab/studies/realized_cost.py --data-dir DIR        (or LABELWISE_DATA=DIR)

Writes realized_cost.json (mean cost of every policy in every split) and realized_cost.md (the
tables) beside this file. Each split is half for training, a quarter for calibration and for tuning
the entropy threshold, and a quarter for testing. The ensembles are ten small neural networks, each
trained on its own bootstrap sample.

The cost matrices below are made up for illustration and were fixed before any result was seen; they
are no medical advice.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import first_screen, in_short, signed

from labelwise.calibration import calibration_errors, fit_calibration
from labelwise.decisions import ABSTAIN, ASK, Costs, decide
from labelwise.models import LabelwiseClassifier
from labelwise.typing import Decisions
from labelwise_lab import datasets
from labelwise_lab.pages import table

HERE = Path(__file__).resolve().parent
ABSTAIN_PRICE = 2.0
PRICES = (0.25, 0.5, 1.0, 2.0)
EXPERT_ERROR = 0.05
POLICIES = ("decide", "argmax", "entropy", "chow", "oracle")
TEST_SHARE = 0.25


def by_severity(severity: list[float]) -> np.ndarray:
    """Missing class k costs its severity, whatever was predicted instead."""
    return np.array(severity, dtype=float)[:, None] * (1 - np.eye(len(severity)))


def by_grade(under: float, over: float, grades: int) -> np.ndarray:
    """An ordered scale: so much for each grade too low, so much for each grade too high."""
    gap = np.arange(grades)[:, None] - np.arange(grades)
    return np.where(gap > 0, under * gap, -over * gap).astype(float)


MATRICES = {
    # psoriasis, seborrheic dermatitis, lichen planus, pityriasis rosea (heals by itself), chronic
    # dermatitis, pityriasis rubra pilaris
    "dermatology": by_severity([5, 2, 3, 1, 2, 10]),
    # five healthy patterns, accelerative-decelerative (stress), decelerative, largely decelerative,
    # flat-sinusoidal, suspect
    "cardiotocography": by_severity([1, 1, 1, 1, 1, 2, 5, 10, 10, 10]),
    # five grades of diabetic retinopathy: too low a grade is four times worse than too high a one
    "retinamnist": by_grade(4, 1, 5),
}


def model(name: str, seed: int) -> LabelwiseClassifier:
    steps = [
        SimpleImputer(strategy="median"),
        StandardScaler(),
        *([PCA(40)] if name == "retinamnist" else []),
    ]
    return LabelwiseClassifier(
        make_pipeline(*steps, MLPClassifier((64,), max_iter=200)),
        n_members=10,
        random_state=seed,
        n_jobs=1,
    )


def split_in_three(
    data: datasets.Dataset, seed: int
) -> tuple[datasets.Examples, datasets.Examples, datasets.Examples]:
    """Half for training, a quarter for calibration, a quarter for testing, with the shares of the
    classes kept.
    """
    outer = data.resplit(test_size=TEST_SHARE, rng=seed)
    inner = datasets.Dataset(
        data.name, None, outer.train, data.class_names, None, data.features, False
    ).resplit(test_size=1 / 3, rng=seed)
    flat = [
        datasets.Examples(s.x.reshape(len(s), -1).astype(float), s.y)
        for s in (inner.train, inner.test, outer.test)
    ]
    return flat[0], flat[1], flat[2]


def entropy(plan: Decisions) -> np.ndarray:
    """Shannon entropy of each case in bits."""
    p = plan.mean
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


def tuned_entropy(plan: Decisions, y: np.ndarray) -> tuple[float, int]:
    """The entropy threshold and the refusal (abstain or ask) with the lowest cost."""
    scores, likely = entropy(plan), plan.mean.argmax(axis=-1)
    found = []
    for refusal in (ABSTAIN, ASK):
        for threshold in (-np.inf, *np.unique(scores)):
            action = np.where(scores <= threshold, likely, refusal)
            cost = plan.problem.paid(action, plan.after_answer, y).sum()
            found.append((float(cost), float(threshold), refusal))
    _, threshold, refusal = min(found)
    return threshold, refusal


def costs_of_policies(
    plan: Decisions, y: np.ndarray, tuning: Decisions, y_tuning: np.ndarray
) -> dict[str, float]:
    """Mean realized cost of each policy. The most probable class; that below an entropy threshold
    tuned on other cases; the cheapest prediction or abstention (Chow); and who knows the truth.
    """
    likely = plan.mean.argmax(axis=-1)
    threshold, refusal = tuned_entropy(tuning, y_tuning)
    actions = {
        "decide": plan.action,
        "argmax": likely,
        "entropy": np.where(entropy(plan) <= threshold, likely, refusal),
        "chow": plan.problem.now(plan.mean)[0],
        "oracle": plan.problem.now(np.eye(plan.mean.shape[-1])[y])[0],
    }
    return {
        name: float(plan.problem.paid(action, plan.after_answer, y).mean())
        for name, action in actions.items()
    }


def run(name: str, data_dir: str | None, splits: int) -> dict:
    whole = datasets.load(name, data_dir=data_dir)
    result: dict = {"classes": list(whole.class_names), "matrix": MATRICES[name].tolist()}
    result["cost"] = {
        state: {str(price): {policy: [] for policy in POLICIES} for price in PRICES}
        for state in ("raw", "calibrated")
    }
    result["asked"] = {
        state: {str(price): [] for price in PRICES} for state in ("raw", "calibrated")
    }
    result["expected"] = {
        state: {str(price): [] for price in PRICES} for state in ("raw", "calibrated")
    }
    result["accuracy"], result["temperature"], result["calibration_error"] = (
        [],
        [],
        {"raw": [], "calibrated": []},
    )
    for seed in range(splits):
        train, tune, test = split_in_three(whole, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            members = model(name, seed).fit(train.x, train.y)
        raw = [members.predict_distribution(part.x) for part in (tune, test)]
        calibration = fit_calibration(raw[0], tune.y)
        result["temperature"].append(round(float(calibration.temperature), 4))
        result["accuracy"].append(round(float(np.mean(raw[1].mean().argmax(1) == test.y)), 5))
        for state, (q_tune, q_test) in (
            ("raw", raw),
            ("calibrated", [calibration(q) for q in raw]),
        ):
            result["calibration_error"][state].append(
                round(float(calibration_errors(q_test, test.y).classwise.value.mean()), 5)
            )
            for price in PRICES:
                costs = Costs(
                    MATRICES[name], abstain=ABSTAIN_PRICE, ask=price, expert_error=EXPERT_ERROR
                )
                plan = decide(q_test, costs, task="multiclass")
                paid = costs_of_policies(
                    plan, test.y, decide(q_tune, costs, task="multiclass"), tune.y
                )
                for policy in POLICIES:
                    result["cost"][state][str(price)][policy].append(round(paid[policy], 5))
                result["asked"][state][str(price)].append(
                    round(float(np.mean(plan.action == ASK)), 5)
                )
                result["expected"][state][str(price)].append(
                    round(float(plan.expected_cost.mean()), 5)
                )
        print(f"{name}: split {seed + 1} of {splits}", flush=True)
    return result


def summary(results: dict) -> str:
    lines = ["# Realized cost: results", ""]
    lines += [
        (
            f"`{results['command']}`, {results['splits']} random splits, {results['minutes']} min "
            "of one core."
        ),
        "",
    ]
    lines += [
        f"Abstaining costs {ABSTAIN_PRICE:g}; the expert errs in {EXPERT_ERROR:.0%} of the cases. "
        "Cost per case, mean over the splits. Savings are "
        "paired over the splits: the other policy's cost minus that of `decide`, with 95 % "
        "intervals for all of a table together; above 0, `decide` is cheaper.",
        "",
    ]
    short: list[list[str]] = []
    place = len(lines)
    for name, result in results["sets"].items():
        temperature = np.array(result["temperature"])
        errors = {
            state: np.mean(result["calibration_error"][state]) for state in ("raw", "calibrated")
        }
        lines += [
            f"## {name}",
            "",
            f"Accuracy {np.mean(result['accuracy']):.3f}; temperature {temperature.mean():.2f} "
            f"({temperature.min():.2f} to {temperature.max():.2f}); class-wise "
            f"calibration error {errors['raw']:.4f} before, {errors['calibrated']:.4f} after.",
            "",
        ]
        rows, savings, family = [], [], 2 * len(PRICES) * 3
        saved: list[np.ndarray] = []
        for state in ("raw", "calibrated"):
            for price in map(str, PRICES):
                cost = {policy: np.array(c) for policy, c in result["cost"][state][price].items()}
                asked, expected = (
                    np.mean(result["asked"][state][price]),
                    np.mean(result["expected"][state][price]),
                )
                rows.append(
                    [
                        state,
                        price,
                        *(f"{cost[p].mean():.3f}" for p in POLICIES),
                        f"{expected:.3f}",
                        f"{asked:.0%}",
                    ]
                )
                saved += [cost[p] - cost["decide"] for p in ("argmax", "entropy", "chow")]
                savings.append(
                    [
                        state,
                        price,
                        *(
                            signed(cost[p] - cost["decide"], TEST_SHARE, family)
                            for p in ("argmax", "entropy", "chow")
                        ),
                    ]
                )
        lines += [table(["", "price of asking", *POLICIES, "promised by `decide`", "asked"], rows)]
        lines += [
            "Savings of `decide` over …",
            "",
            table(["", "price of asking", "argmax", "entropy threshold", "Chow"], savings),
        ]
        short.append(in_short(name, "savings of `decide`", saved, TEST_SHARE))
        gains = []
        for policy in ("decide", "entropy", "chow"):
            before, after = (
                [np.array(result["cost"][state][str(price)][policy]) for price in PRICES]
                for state in ("raw", "calibrated")
            )
            gains.append(
                [
                    policy,
                    *(
                        signed(b - a, TEST_SHARE, 3 * len(PRICES))
                        for b, a in zip(before, after, strict=True)
                    ),
                ]
            )
        lines += [
            "What calibration saves (cost before minus cost after) at each price of asking:",
            "",
        ]
        lines += [table(["", *map(str, PRICES)], gains)]
    lines[place:place] = first_screen(
        "how often `decide` is clearly cheaper (above 0) or dearer than the other policies", short
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder that holds medical/ (default: LABELWISE_DATA)")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the results")
    options = parser.parse_args()
    start = time.process_time()
    sets = {name: run(name, options.data_dir, options.splits) for name in MATRICES}
    results = {
        "command": "python lab/studies/realized_cost.py",
        "splits": options.splits,
        "minutes": round((time.process_time() - start) / 60, 1),
        "sets": sets,
    }
    (options.output / "realized_cost.json").write_text(
        json.dumps(results, separators=(",", ":")) + "\n"
    )
    (options.output / "realized_cost.md").write_text(summary(results))


if __name__ == "__main__":
    main()
