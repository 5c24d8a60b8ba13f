"""The results of votes.py and votes_simulation.py as sections of docs/explanation/votes.md and
docs/lab/votes.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labelwise_lab.pages import between, table

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


def _number(x: float | None, digits: int = 2) -> str:
    return "–" if x is None else f"{x:.{digits}f}"


def _interval(value: float | None, low: float | None, high: float | None, digits: int = 2) -> str:
    return (
        _number(value, digits)
        if low is None or high is None
        else f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
    )


def _signed(x: list[float]) -> str:
    return f"{1e4 * x[0]:+.2f} [{1e4 * x[1]:+.2f}, {1e4 * x[2]:+.2f}]"


def reliability(result: dict[str, Any]) -> str:
    parts = list(result["reliability"])
    rows = []
    for k, name in enumerate(result["class_names"]):
        ratios = [[x[k] for x in result["reliability"][part]["labels"]["ratio"]] for part in parts]
        rows.append([name, *(_interval(*r) for r in ratios)])
    rows.append(
        ["**sum**", *(_interval(*result["reliability"][part]["sum"]["ratio"]) for part in parts)]
    )
    return table(
        [
            "claimed ÷ observed",
            *({"total": "TU", "aleatoric": "AU", "epistemic": "EU"}[part] for part in parts),
        ],
        rows,
    )


def scores(result: dict[str, Any]) -> str:
    rows = [
        [
            name,
            *(f"{1e4 * x[key]:.2f}" for key in ("score", "calibration", "resolution")),
            _signed(x["difference"]),
        ]
        for name, x in result["scores"].items()
    ]
    return table(
        [
            "claim (× 10⁻⁴, summed over the labels)",
            "score",
            "calibration",
            "resolution",
            "minus “TU: mean, then isotonic”",
        ],
        rows,
    )


def by_label(result: dict[str, Any]) -> str:
    shown = [
        "AU as claimed",
        *REPAIRED,
        "TU: mean, then isotonic",
        "AU: isotonic",
        "TU: isotonic",
        "EU: isotonic",
        "constant per label",
    ]
    rows = [
        [name, *(f"{1e4 * result['scores'][claim]['labels'][k]:.2f}" for claim in shown),
         _signed(result["scores"][REPAIRED[2]]["label_differences"][k])]
        for k, name in enumerate(result["class_names"])
    ]  # fmt: skip
    return table(
        ["score by label (× 10⁻⁴)", *shown, "mean of each member − TU, both with repaired mean"],
        rows,
    )


REPAIRED = (
    "AU: mean, then share",
    "AU: mean, then share, then isotonic",
    "AU: mean of each member, then isotonic",
)


def verdict(results: dict[str, Any]) -> str:
    """What the scores say, in the sentence that opens the page."""
    better = [
        results["benchmark"][name]["scores"][claim]["difference"][2] < 0
        for name in ("cifar10h", "chaosnli")
        for claim in REPAIRED
    ]
    how = "**better**" if all(better) else "only sometimes better" if any(better) else "no better"
    return (
        "Once both are repaired with votes, aleatoric uncertainty tells where people disagree "
        f"{how} than total uncertainty does."
    )


def votes_results(results: dict[str, Any], simulation: dict[str, Any]) -> str:
    lines = [
        "## Results",
        "",
        (
            f"`{results['command']}`, {results['benchmark']['cifar10h']['splits']} random halves; "
            "95 % intervals."
        ),
        "",
    ]
    for name, result in results["benchmark"].items():
        low, middle, high = result["votes_per_case"]
        lines += [
            f"### {name}",
            "",
            f"{result['note']} {result['cases']:,} cases, {middle} votes each ({low} to {high}).",
            "",
            reliability(result),
        ]
        if result["hard"]:
            (claimed, error), (claimed2, error2) = (
                result["total_scores"][key] for key in ("claimed", "repaired")
            )
            lines += [
                f"Held out, summed over the labels: TU claimed {claimed:.3f}, squared error of a "
                f"vote {error:.3f}; with the mean repaired "
                f"{claimed2:.3f} and {error2:.3f}.",
                "",
            ]
            continue
        lines += [scores(result), by_label(result)]
        before, after = (result["test"][key] for key in ("claimed", "repaired"))
        above = sum(result["moved"]["repaired_above_total"]) / len(result["class_names"])
        lines += [
            f"The test rejects the claims in {before['rejected']:.0%} of the splits, the repaired "
            f"claims in {after['rejected']:.0%}; claims are right within "
            f"{100 * before['within']:.0f} % before and {100 * after['within']:.0f} % after "
            f"(median). The repaired AU exceeds the *claimed TU* in {above:.0%} "
            f"of the cases and labels. Log loss, from the bounds: {_verdicts(result['entropy'])}.",
            "",
        ]
    lines += ["### Calibrating the members", "", "Held out, mean of five random halves.", ""]
    for name, found in results["members"].items():
        rows = [
            [method, way, *(_number(x, 4) for x in values[:3]), _number(values[3], 3)]
            for method, ways in found.items()
            for way, values in ways.items()
        ]
        lines += [
            table(
                [
                    name,
                    "",
                    "log loss of the mean (bits)",
                    "Brier",
                    "mean EU (bits)",
                    "AUROC of EU for errors",
                ],
                rows,
            )
        ]
    lines += ["### Simulated votes", "", f"`{simulation['command']}`", ""]
    for title, key in (
        (
            "Pair estimators: mean minus truth in standard errors, and how exactly they add up",
            "unbiased",
        ),
        ("Coverage of 95 % intervals", "coverage"),
        (
            "Coverage for the disagreement of named annotators with habits of their own",
            "annotators",
        ),
        (
            "How often the test rejects at the 5 % level (logits × 1: the claims are right)",
            "rejections",
        ),
    ):
        found = simulation[key]
        lines += [
            f"{title}:",
            "",
            table(list(found[0]), [[str(x) for x in row.values()] for row in found]),
        ]
    return "\n".join(lines).rstrip()


def _verdicts(entropy: dict[str, Any]) -> str:
    counts = {word: entropy["verdict"].count(word) for word in ("too low", "possible", "too high")}
    return ", ".join(
        f"AU {word} for {n} label{'s' if n > 1 else ''}" for word, n in counts.items() if n
    )


def critics_results(results: dict[str, Any]) -> str:
    rows = []
    for name in ("cifar10h", "chaosnli"):
        x = results["critics"][name]
        ratio = results["benchmark"][name]["reliability"]["epistemic"]["sum"]["ratio"]
        rows.append(
            [
                name,
                _number(x["spearman"]),
                _interval(*ratio),
                f"{x['wrong and agreed']} of {x['wrong']}",
                f"{x['wrong with EU below the median']} of {x['wrong']}",
                ", ".join(f"{share:.2f}" for share in x["aleatoric share by temperature"].values()),
            ]
        )
    header = [
        "",
        "Spearman of AU and EU",
        "EU claimed ÷ observed",
        "wrong, all members agree",
        "wrong, EU below the median",
        "AU/TU at T = ½, 1, 2, 4",
    ]
    digits = results["critics"]["digits"]
    lines = [
        "## Runs for the critics",
        "",
        "`python lab/studies/votes.py --data-dir DIR --only critics`, squared loss.",
        "",
        table(header, rows),
    ]
    lines += [
        (
            "Disentanglement error, five small networks on scikit-learn's digits, all trained for "
            "the same number of steps (0 is best, 0.5 if nothing correlates):"
        ),
        "",
    ]
    rows = []
    for loss in ("log", "squared"):
        for kind, word in (
            ("size", "share of the training data"),
            ("noise", "share of labels shuffled"),
        ):
            for level, (error, au, eu) in zip(
                digits["levels"][kind], digits[loss][kind], strict=True
            ):
                rows.append(
                    [loss, f"{word} {level:g}", _number(error, 3), _number(au, 4), _number(eu, 4)]
                )
    lines += [
        f"Log loss {digits['log']['error']:.2f}, squared loss {digits['squared']['error']:.2f}.",
        "",
    ]
    lines += [table(["loss", "models", "error rate", "mean AU", "mean EU"], rows)]
    return "\n".join(lines).rstrip()


def sections(results: dict[str, Any]) -> dict[tuple[str, str], str]:
    """The generated parts of the pages, by file and name."""
    simulation = json.loads((HERE / "votes_simulation.json").read_text())
    return {
        ("explanation/votes.md", "verdict"): verdict(results),
        ("lab/votes.md", "results"): votes_results(results, simulation),
        ("lab/votes.md", "critics"): critics_results(results),
    }


def with_section(page: str, name: str, text: str) -> str:
    """``page`` with its part ``name``, between two comments, replaced by ``text``."""
    start, end = f"<!-- {name}: generated by lab/studies/votes.py -->", f"<!-- end of {name} -->"
    return between(page, start, end, f"\n\n{text}\n\n")


def write_pages(results: dict[str, Any]) -> None:
    for (file, name), text in sections(results).items():
        path = DOCS / file
        path.write_text(
            with_section(path.read_text(encoding="utf-8"), name, text), encoding="utf-8"
        )
