"""From what users have to what they want to know, in at most five lines each.

A walk is a function whose statements are the lines that a user writes; its arguments are what the
user has already.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main
from optional_libraries import optional

LINES = 5
CLASSES = ["airplane", "cat", "dog"]


def few_lines(walk: Callable[..., Any]) -> Callable[..., Any]:
    """The walk itself, if it has no more statements than a user should need."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(walk))).body
    assert isinstance(function, ast.FunctionDef)
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    assert len(statements) - 1 <= LINES, f"{walk.__name__} takes {len(statements) - 1} lines"
    return walk


def test_lines_are_counted() -> None:
    def long_way(x: int) -> int:
        if x:
            x = 1
            x = 2
            x = 3
            x = 4
        return x

    with pytest.raises(AssertionError, match="long_way takes 6 lines"):
        few_lines(long_way)


# --- 1: PyTorch: a table per image, the 20 worst, an out-of-distribution check
# ---------------------------------------------


def pytorch(models: Any, loader: Any, elsewhere: Any) -> Any:
    q, y = lw.from_models(models, loader, class_names=CLASSES, return_labels=True)
    u, outside = lw.decompose(q), lw.decompose(lw.from_models(models, elsewhere))
    return (
        u.to_frame(y_true=y),
        u.top(20),
        lw.evaluation.detection_scores(u.sum().epistemic, outside.sum().epistemic),
    )


def test_pytorch() -> None:
    torch, data = optional("torch"), optional("torch.utils.data")
    optional("pandas")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        models = [
            torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
            for _ in range(5)
        ]
        x, y = torch.randn(100, 4), torch.randint(0, 3, (100,))
    inside, outside = (
        data.DataLoader(data.TensorDataset(z, y), batch_size=32) for z in (x, 10 * x)
    )
    table, worst, found = few_lines(pytorch)(models, inside, outside)
    assert table["y_true"].tolist() == [CLASSES[k] for k in y]
    assert list(table.columns[:2]) == ["instance", "y_true"]
    assert table["epistemic"].nlargest(20).index.tolist() == worst.indices.tolist()
    assert float(found.auroc) > 0.9  # far away the networks disagree
    assert len(repr(worst)) < 500


# --- 2: scikit-learn: a forest, and labels as strings in a pandas table
# ------------------------------------------------------


def scikit_learn(forest: Any, X: Any, y: Any) -> Any:
    q = lw.from_models(forest.fit(X[:100], y[:100]), X[100:])
    u = lw.decompose(q)
    return (
        u.to_frame(ids=X.index[100:], y_true=y[100:]),
        lw.evaluation.by_class(u, y[100:]),
        lw.evaluation.log_loss(q, y[100:]),
    )


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_scikit_learn(dtype: str) -> None:
    pd, forests = optional("pandas"), optional("sklearn.ensemble")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.normal(size=(160, 3)), columns=["a", "b", "c"], index=[f"row {i}" for i in range(160)]
    )
    y = pd.Series(np.array(CLASSES)[table.to_numpy().argmax(axis=1)], index=table.index).astype(
        dtype
    )
    frame, classes, loss = few_lines(scikit_learn)(
        forests.RandomForestClassifier(20, max_depth=5, random_state=0), table, y
    )
    assert frame["id"].tolist() == table.index[100:].tolist()
    assert frame["y_true"].tolist() == y[100:].tolist()
    assert classes.counts.tolist() == [int((y[100:] == name).sum()) for name in CLASSES]
    assert 0 < float(loss) < np.log(3)


# --- 3: the command line only: a CSV for each model
# --------------------------------------------------------------------------


def test_a_csv_for_each_model(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    probs, y = rng.dirichlet(np.ones(3), (3, 40)), rng.integers(0, 3, 40)
    orders = [
        rng.permutation(40) for _ in range(3)
    ]  # each model has written its cases in another one
    for m, order in enumerate(orders):
        rows = [
            ",".join([f"image-{i}", *map(repr, probs[m, i].tolist()), CLASSES[y[i]]]) for i in order
        ]
        (tmp_path / f"model{m + 1}.csv").write_text(
            "\n".join(["id," + ",".join(CLASSES) + ",y_true", *rows])
        )
    models = ["model1.csv", "model2.csv", "model3.csv"]
    for command in (
        ["report", *models, "-o", "report.html"],
        ["quantify", *models, "-o", "u.csv"],
        ["evaluate", *models],
    ):
        said = CliRunner().invoke(main, command)
        assert said.exit_code == 0, said.output
        assert "3 members × 40 cases × 3 classes" in said.output
    assert "<html" in (tmp_path / "report.html").read_text()
    header, *lines = (line.split(",") for line in (tmp_path / "u.csv").read_text().splitlines())
    u = lw.decompose(lw.Ensemble(probs))
    assert [line[header.index("id")] for line in lines] == [f"image-{i}" for i in orders[0]]
    np.testing.assert_allclose(
        [float(line[header.index("log_epistemic.cat")]) for line in lines],
        u.epistemic[orders[0], 1],
        rtol=1e-12,
    )


# --- 4: costs for a doctor: missing a melanoma is 20 times worse, asking costs 2
# ------------------------------------------------

LESIONS = ["akiec", "bcc", "bkl", "df", "mel", "nv", "vasc"]


def doctor(probs: np.ndarray, y: np.ndarray) -> Any:
    costs = lw.decisions.Costs(default=1, missed={"mel": 20}, ask=2)
    plan = lw.decisions.decide(lw.Ensemble(probs, class_names=LESIONS), costs, task="multiclass")
    return plan.summary(y), plan.break_even


def lesions() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([0.1, 0.1, 0.2, 0.05, 0.2, 1.5, 0.05], 2000)
    probs = np.stack([(theta + 1e-6) / (1 + 7e-6)] * 3)
    return probs, np.minimum((theta.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1), 6)


def test_doctor() -> None:
    probs, y = lesions()
    story, price = few_lines(doctor)(probs, y)
    mel = LESIONS.index("mel")
    table = story.by_class
    assert table["missed_after"][mel] < table["missed_before"][mel] / 2
    assert table["called_after"][mel] > table["called_before"][mel]
    assert story.saving.low > 0
    assert not table["asked"].any()  # 2 is too much:
    assert 0.9 < price < 1


def test_doctor_from_files(tmp_path: Any) -> None:
    probs, y = lesions()
    np.savez(tmp_path / "preds.npz", probs=probs, y_true=y, class_names=LESIONS)
    costs = tmp_path / "costs.toml"
    costs.write_text("default = 1\nask = 2\n[missed]\nmel = 20\n")
    said = CliRunner().invoke(
        main,
        [
            "decide",
            str(tmp_path / "preds.npz"),
            "--costs",
            str(costs),
            "-o",
            str(tmp_path / "plan.csv"),
        ],
    )
    assert said.exit_code == 0, said.output
    story, price = doctor(probs, y)
    mel = LESIONS.index("mel")
    (line,) = (
        line
        for line in said.output.splitlines()
        if line.split()[:2] == ["mel", f"{story.by_class['cases'][mel]}"]
    )
    before, after = (story.by_class[f"missed_{when}"][mel] for when in ("before", "after"))
    assert f"{before} → {after}" in line
    assert f"Asking pays below {price:.3g}" in said.output
    page = tmp_path / "report.html"
    shown = CliRunner().invoke(
        main, ["report", str(tmp_path / "preds.npz"), "--costs", str(costs), "-o", str(page)]
    )
    assert shown.exit_code == 0, shown.output


# --- 5: segmentation: which pixels, of which class
# ------------------------------------------------------------------------


def segmentation(probs: np.ndarray) -> Any:
    u = lw.decompose(lw.Ensemble(probs, class_axis=2, class_names=CLASSES))
    maps = u.to_xarray(dims=("case", "y", "x"), label_axis=1)
    return maps, u.top(20, label="cat")


def test_segmentation() -> None:
    optional("xarray")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (5, 2, 32, 32))
    maps, worst = few_lines(segmentation)(np.moveaxis(probs, -1, 2))
    assert maps["epistemic"].shape == (2, 3, 32, 32)  # channel-first in, channel-first out
    case, y, x = worst.indices[0]
    assert (
        maps["epistemic"].sel(label="cat")[case, y, x] == maps["epistemic"].sel(label="cat").max()
    )


# --- 6: a language model: which tokens is it unsure about?
# ----------------------------------------------------------------


def language_model(logits: Any, vocabulary: Any) -> Any:
    u = lw.decompose(lw.Ensemble.from_logits(logits, class_names=vocabulary))
    return u, u.top(5), u.sum().to_dict()


def test_language_model() -> None:
    torch = optional("torch")
    logits = torch.randn(4, 50, 2000, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    logits[:, 7] = 4 * torch.randn(4, 2000, generator=torch.Generator().manual_seed(1)).to(
        torch.bfloat16
    )  # here the members disagree
    u, worst, means = few_lines(language_model)(logits, [f"token {i}" for i in range(2000)])
    assert worst.indices[0] == u.sum().epistemic.argmax()
    assert len(repr(u)) < 1000
    assert means["total"] == pytest.approx(means["aleatoric"] + means["epistemic"], rel=1e-4)


# --- 7: active learning: 100 cases for "cat"
# --------------------------------------------------------------------------------


def active_learning(probs: np.ndarray, ids: Any) -> Any:
    q = lw.Ensemble(probs, class_names=CLASSES)
    return lw.decisions.acquire(q, budget=100, label="cat").to_frame(ids=ids)


def test_active_learning() -> None:
    optional("pandas")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (5, 1000))
    ids = np.array([f"image-{i}.png" for i in range(1000)])
    table = few_lines(active_learning)(probs, ids)
    expected = np.argsort(-lw.decompose(lw.Ensemble(probs), "log").epistemic[:, 1], kind="stable")[
        :100
    ]
    assert table["id"].tolist() == ids[expected].tolist()


def test_active_learning_from_the_shell(tmp_path: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (5, 1000))
    np.savez(tmp_path / "preds.npz", probs=probs, class_names=CLASSES)
    output = tmp_path / "next.csv"
    result = CliRunner().invoke(
        main,
        [
            "acquire",
            str(tmp_path / "preds.npz"),
            "--label",
            "cat",
            "--budget",
            "100",
            "-o",
            str(output),
        ],
    )
    assert result.exit_code == 0, result.output
    expected = np.argsort(-lw.decompose(lw.Ensemble(probs), "log").epistemic[:, 1], kind="stable")[
        :100
    ]
    assert [
        int(line.split(",")[1]) for line in output.read_text().splitlines()[1:]
    ] == expected.tolist()


# --- 8: an evidential network
# ------------------------------------------------------------------------------------------------


def evidential(path: Any) -> Any:
    q = lw.Dirichlet(np.load(path)["alpha"], class_names=CLASSES)
    return lw.decompose(q).to_frame(), lw.evaluation.vacuity(q)


def test_evidential(tmp_path: Any) -> None:
    optional("pandas")
    evidence = np.random.default_rng(0).gamma(1.0, 5.0, (200, 3))
    np.savez(tmp_path / "alpha.npz", alpha=evidence + 1)
    table, vacuity = few_lines(evidential)(tmp_path / "alpha.npz")
    assert len(table) == 200
    assert table["epistemic"].corr(np_series(vacuity)) > 0.5  # little evidence, much to learn


def np_series(x: np.ndarray) -> Any:
    return optional("pandas").Series(x)


# --- 9: multi-label X-rays: 14 sigmoids
# ----------------------------------------------------------------------------------------


def multilabel(probs: np.ndarray, y: np.ndarray, path: Any) -> Any:
    q = lw.MultiLabelEnsemble(probs)
    report = lw.report.write_report(path, q, y_true=y)
    return report, lw.decompose(q).to_frame(layout="long", y_true=y), lw.evaluation.log_loss(q, y)


def test_multilabel(tmp_path: Any) -> None:
    optional("pandas")
    rng = np.random.default_rng(0)
    probs, y = rng.random((5, 60, 14)), rng.integers(0, 2, (60, 14))
    report, table, loss = few_lines(multilabel)(probs, y, tmp_path / "report.html")
    assert len(table) == 60 * 14
    assert table["y_true"].tolist() == y.astype(bool).ravel().tolist()
    assert report.data["multilabel"]
    assert 0 < float(loss) < np.inf
