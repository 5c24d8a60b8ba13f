"""No text of the project claims more than was shown: README, docs, docstrings, the page, and what
the commands print.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from banned_claims import BANNED, banned_claims
from command_line import run

ROOT = Path(__file__).parents[1]
# File -> the claims that it may quote, and why.
QUOTED = {
    "src/labelwise/calibration/check.py": {"No model is perfectly calibrated": "denies it"},
    "lab/src/labelwise_lab/paper/claims.py": {"Whether new images lower EU": "tests it"},
    "docs/lab/claims.md": {
        "epistemic uncertainty is what more data would remove": "withdraws it",
        "We say that new images do not lower EU if": "the paper's claim, tested",
    },
}


def texts() -> list[Path]:
    """Everything that people read."""
    folders = {
        "src": ("py", "html"),
        "page/src": ("ts", "tsx"),
        "docs": ("md", "py"),
        "examples": ("py",),
    }
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder, kinds in folders.items():
        found += [
            path
            for kind in kinds
            for path in sorted((ROOT / folder).rglob(f"*.{kind}"))
            if not {"_build", "_static"} & set(path.parts)
        ]
    return found


@pytest.mark.parametrize(
    "claim",
    [
        "Most of it is epistemic: more data should help.",
        "more training data could save at most 0.4 if no expert is asked",
        "What the members disagree about is\n    reducible.",
        '"more data " "will hardly help"'.replace('" "', '"\n        "'),
        "No sign of bad calibration in 400 instances.",
        "these networks are already calibrated",
        "Classes, least known first",
        "aleatoric: noise in the data",
    ],
)
def test_claims_are_found(claim) -> None:
    assert len(banned_claims(claim)) == 1


def test_what_is_true_may_be_said() -> None:
    caveat = (
        "Neither says what more data would do: members can agree because they are alike and "
        "disagree because they are random."
    )
    page = ROOT / "src/labelwise/report/static/page.html"
    assert caveat in " ".join(page.read_text(encoding="utf-8").split())
    assert banned_claims(caveat) == []
    assert all(reason and patterns for reason, patterns in BANNED.items())


def test_no_text_claims_too_much() -> None:
    found = {}
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        quotes = QUOTED.get(name, {})
        claims = [
            claim
            for claim in banned_claims(path.read_text(encoding="utf-8"))
            if not any(quote in claim for quote in quotes)
        ]
        if claims:
            found[name] = claims
    assert found == {}


def test_quotes_are_there() -> None:
    for name, quotes in QUOTED.items():
        claims = banned_claims((ROOT / name).read_text(encoding="utf-8"))
        assert all(any(quote in claim for claim in claims) for quote in quotes), name


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("claims")
    p = rng.dirichlet([0.6, 0.5, 0.4], (4, 300))
    y = rng.integers(0, 3, 300)
    names = ["nevus", "keratosis", "melanoma"]
    lw.io.save_predictions(folder / "preds.npz", probs=p, y_true=y, class_names=names)
    lw.io.save_predictions(folder / "other.npz", probs=p[:, ::-1], class_names=names)
    (folder / "costs.toml").write_text("default = 1\nask = 0.4\n[missed]\nmelanoma = 20\n")
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("evaluate", "preds.npz", "--ood", "other.npz"),
        ("decide", "preds.npz", "--costs", "costs.toml"),
        ("acquire", "preds.npz", "--budget", "10"),
        ("report", "preds.npz", "-o", "page.html", "--costs", "costs.toml"),
        ("quantify", "preds.npz", "-o", "u.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_claims_too_much(arguments, files, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(files.get(x, x) for x in arguments))
    assert result.exit_code == 0, result.output
    assert banned_claims(result.output) == []
