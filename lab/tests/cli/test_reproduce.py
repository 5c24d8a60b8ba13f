"""``labelwise-lab reproduce``: every experiment on data that is always there, and the page from its
results.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
import labelwise_lab
from labelwise.evaluation import detection_scores, rejection_curve
from labelwise.io import load_predictions
from labelwise_lab.cli import main
from labelwise_lab.paper.appendix import appendix
from labelwise_lab.paper.claims import claims_page
from labelwise_lab.paper.prediction_files import read_predictions, write_predictions
from labelwise_lab.paper.provenance import Results
from labelwise_lab.paper.records import pick, select

ROOT = Path(__file__).parents[2]
NAME = "digits-paper-5-epochs-2-members"
EXPERIMENTS = ("arc", "ood", "losses", "gallery", "artifact", "human", "holdout")


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["reproduce", *map(str, args)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    """The results folder after all experiments."""
    results = tmp_path_factory.mktemp("results")
    for name in EXPERIMENTS:
        output = run(name, "--quick", "-o", results)
        assert "its figure" in output
    return results


def numbers(quick: Path, name: str) -> dict:
    folder = quick / ("holdout-digits-paper-2-members" if name == "holdout" else NAME)
    return json.loads((folder / f"{name}.json").read_text())


def test_everything_is_there(quick):
    folder = quick / NAME
    figures = {
        "arc.png",
        "ood.png",
        "losses.png",
        "artifact.png",
        "human.png",
        *(f"gallery-{p}.png" for p in ("total", "aleatoric", "epistemic")),
    }
    assert {path.name for path in folder.glob("*.png")} == figures
    assert (quick / "holdout-digits-paper-2-members" / "holdout.png").stat().st_size > 10_000
    assert all((folder / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for name in figures)
    for name in EXPERIMENTS:
        about = numbers(quick, name)["about"]
        assert about["experiment"] == name
        assert about["runs"] == (1 if name == "gallery" else 2)
        assert {"labelwise", "python", "numpy", "torch"} <= set(about["versions"])
        assert about["seeds"] == list(range(about["runs"]))


def test_the_numbers_are_those_of_the_predictions(quick):
    runs = [read_predictions(quick / NAME / f"run-{r}" / "digits.npz") for r in range(2)]
    others = [read_predictions(quick / NAME / f"run-{r}" / "shuffled-digits.npz") for r in range(2)]
    assert others[0].y_true is None
    areas, aurocs = [], []
    for p, o in zip(runs, others, strict=True):
        q = lw.Ensemble(p.probs)
        u = lw.decompose(q).sum()
        areas.append(rejection_curve(u.total, correct=q.mean().argmax(-1) == p.y_true).area)
        aurocs.append(
            float(
                detection_scores(
                    u.epistemic, lw.decompose(lw.Ensemble(o.probs)).sum().epistemic
                ).auroc
            )
        )
    arc, ood = numbers(quick, "arc")["numbers"], numbers(quick, "ood")["numbers"]
    found = pick(arc["area"], measure="label-wise entropy", part="total")
    np.testing.assert_allclose(found["runs"], areas, rtol=1e-8)
    assert found["mean"] == pytest.approx(np.mean(areas))
    assert found["sd"] == pytest.approx(np.std(areas, ddof=1))
    detection = select(ood["auroc"], set="shuffled-digits", part="epistemic")
    entropy, variance = (pick(detection, measure=m) for m in ("label-wise entropy", "variance"))
    np.testing.assert_allclose(entropy["runs"], aurocs, rtol=1e-8)
    losses = numbers(quick, "losses")["numbers"]["value"]
    rejection = pick(losses, task="rejection", loss="log", part="total")
    np.testing.assert_allclose(rejection["runs"], found["runs"], atol=1e-6)
    squared = pick(losses, task="shuffled-digits", loss="squared", part="epistemic")
    np.testing.assert_allclose(squared["runs"], variance["runs"], atol=1e-5)
    artifact = numbers(quick, "artifact")["numbers"]
    upright, transposed = (
        {"pixels": "scaled", "orientation": way} for way in ("upright", "transposed")
    )
    plain = pick(artifact["auroc"], set="digits", **upright, measure="entropy")
    assert plain["runs"] == [0.5, 0.5]
    accuracy = pick(artifact["accuracy"], **upright)
    assert accuracy["runs"] == ood["accuracy"]["runs"]
    assert pick(artifact["accuracy"], **transposed)["mean"] < 0.5 < accuracy["mean"]
    gallery = numbers(quick, "gallery")["numbers"]["epistemic"][0]
    eu = lw.decompose(lw.Ensemble(runs[0].probs)).sum().epistemic
    assert (gallery["position"], gallery["epistemic"]) == (
        int(eu.argmax()),
        pytest.approx(float(eu.max())),
    )


def test_unscaled_inputs_are_255_times_as_large(quick):
    """The trick with the statistics is the mistake that it stands for."""
    import torch

    fitted = labelwise_lab.training.load_ensemble(quick / NAME / "run-0" / "training")
    x = torch.from_numpy(labelwise_lab.datasets.load("digits").test.x[:20].astype(np.float32))[
        :, None
    ]  # 0 … 255
    with torch.no_grad():
        probs = torch.softmax(fitted.model(1)(x), -1).numpy()
    stored = read_predictions(quick / NAME / "run-0" / "digits-unscaled.npz").probs[1, :20]
    np.testing.assert_allclose(stored, probs, atol=3e-4)


def test_a_change_to_what_the_recipe_has_is_none(quick):
    first = numbers(quick, "arc")
    run("arc", "--quick", "--change", "batch_size=32", "--change", "network=mlp", "-o", quick)
    assert numbers(quick, "arc")["numbers"] == first["numbers"]
    assert {path.name for path in quick.iterdir()} == {NAME, "holdout-digits-paper-2-members"}


def test_nothing_is_trained_twice(quick):
    checkpoint = quick / NAME / "run-1" / "training" / "member-0.pt"
    before = checkpoint.stat().st_mtime_ns
    first = numbers(quick, "arc")
    run("arc", "--quick", "-o", quick)
    assert numbers(quick, "arc")["numbers"] == first["numbers"]
    assert checkpoint.stat().st_mtime_ns == before


def test_predictions_outlive_the_weights_and_the_data(quick, tmp_path, monkeypatch):
    import shutil

    copy = tmp_path / "results"
    shutil.copytree(quick, copy, ignore=shutil.ignore_patterns("training"))

    def gone(*_: object, **__: object) -> None:
        raise FileNotFoundError("the data are gone.")

    monkeypatch.setattr("labelwise_lab.paper.settings.load", gone)
    monkeypatch.setattr("labelwise_lab.paper.settings.load_fashion_ensemble", gone)
    run("ood", "--quick", "-o", copy)
    assert not (copy / NAME / "run-0" / "training").exists()
    assert (
        json.loads((copy / NAME / "ood.json").read_text())["numbers"]
        == numbers(quick, "ood")["numbers"]
    )


def test_the_training_of_the_command_train_is_adopted(tmp_path):
    trained = CliRunner().invoke(
        main,
        [
            "train",
            "digits",
            "--recipe",
            "default",
            "--members",
            "2",
            "--epochs",
            "1",
            "-o",
            str(tmp_path / "p.npz"),
        ],
        catch_exceptions=False,
    )
    assert trained.exit_code == 0
    folder = tmp_path / "results" / "digits-paper-1-epochs-2-members" / "run-0"
    folder.mkdir(parents=True)
    (tmp_path / "p.training").rename(folder / "training")
    metrics = (folder / "training" / "member-1.jsonl").read_bytes()
    run("arc", "--data", "digits", "--epochs", 1, "--members", 2, "-o", tmp_path / "results")
    assert (folder / "training" / "member-1.jsonl").read_bytes() == metrics
    p = load_predictions(tmp_path / "p.npz")
    write_predictions(tmp_path / "rounded.npz", p.probs, p.y_true, p.class_names)
    np.testing.assert_array_equal(
        read_predictions(folder / "digits.npz").probs,
        read_predictions(tmp_path / "rounded.npz").probs,
    )


def test_the_page(quick, tmp_path):
    empty = tmp_path / "none"
    empty.mkdir()
    tables = appendix(Results(empty, tmp_path))
    printed = "| paper, 5 runs | 0.882 ± 0.018 | 0.894 ± 0.017 | 0.895 ± 0.017 |"
    assert f"| FashionMNIST | MNIST {printed}" in tables
    assert tables.count("*Not run here.*") >= 7
    # the same results under a name of the paper
    (empty / "fashion-mnist-paper").mkdir()
    for name in ("arc", "losses"):
        (empty / "fashion-mnist-paper" / f"{name}.json").write_text(
            (quick / NAME / f"{name}.json").read_text()
        )
    (empty / "fashion-mnist-paper" / "arc.png").write_bytes((quick / NAME / "arc.png").read_bytes())
    renamed = (
        json.dumps(numbers(quick, "ood"))
        .replace("fashion-8x8", "kmnist")
        .replace("shuffled-digits", "mnist")
    )
    (empty / "fashion-mnist-paper" / "ood.json").write_text(renamed)
    (empty / "holdout-cifar10-paper-2-members").mkdir()
    (empty / "holdout-cifar10-paper-2-members" / "holdout.json").write_text(
        json.dumps(numbers(quick, "holdout"))
    )
    (empty / "mine").mkdir()
    (empty / "mine" / "other.json").write_text("[1]")  # somebody else's: left alone
    folder = tmp_path / "lab"
    folder.mkdir()
    output = run("page", "-o", empty, "--output", folder)
    assert "wrote" in output
    text, tables = ((folder / name).read_text() for name in ("claims.md", "results-tables.md"))
    assert "![Accuracy–rejection curves](../none/fashion-mnist-paper/arc.png)" in tables
    assert (
        "![AUROC of epistemic uncertainty, the paper's and ours](../pictures/results-table1.png)"
        in tables
    )
    assert (tmp_path / "pictures" / "results-arc.png").stat().st_size > 5000
    aurocs = json.loads(renamed)["numbers"]["auroc"]
    mean = pick(aurocs, set="mnist", measure="variance", part="epistemic")
    assert f"| protocol “paper”, 2 runs | {mean['mean']:.3f} ± {mean['sd']:.3f} |" in tables
    assert "CIFAR-10, protocol “paper”, changed: 2 members, 2 runs" in tables
    assert "2 runs are too few" in text
    assert "FashionMNIST, the paper's recipe: 2 of 5 runs" in text
    assert "KMNIST, accuracy–rejection curves: only its test set was available" in text


@pytest.mark.parametrize(
    ("name", "write"), [("claims.md", claims_page), ("results-tables.md", appendix)]
)
def test_the_pages_in_the_documentation_are_those_of_the_results(name, write):
    assert write(Results(ROOT / "results", ROOT.parent / "docs" / "lab")) == (
        ROOT.parent / "docs" / "lab" / name
    ).read_text(encoding="utf-8"), "run: labelwise-lab reproduce page"


def test_audit(quick, tmp_path):
    assert "0 differ by more than" in run("audit", "-o", quick)
    import shutil

    copy = tmp_path / "results"
    shutil.copytree(quick, copy, ignore=shutil.ignore_patterns("training"))
    path = copy / NAME / "arc.json"
    stored = json.loads(path.read_text())
    stored["numbers"]["area"][0]["mean"] += 1e-3
    path.write_text(json.dumps(stored))
    output = " ".join(run("audit", "-o", copy, code=1).split())
    assert "1 differ by more than" in output
    stored["numbers"]["area"][0]["mean"] -= 1e-3
    path.write_text(json.dumps(stored))
    assert "1 result not recomputed, 0 unreadable" in run(
        "audit", "-o", copy
    )  # votes that nobody cast
    (copy / NAME / "run-1" / "fashion-8x8.npz").write_bytes(b"PK")
    output = " ".join(run("audit", "-o", copy, code=1).split())
    assert (
        f"{NAME}/ood.json: cannot be read: run-1/fashion-8x8.npz: it is not a .npz file" in output
    )
    assert "1 result not recomputed, 2 unreadable" in output
    assert f"{NAME}/arc.json: 1" in output  # the others are recomputed
    empty = tmp_path / "empty"
    empty.mkdir()
    output = " ".join(run("audit", "-o", empty, code=1).split())
    assert "could be recomputed; an audit of nothing does not pass" in output


def test_a_run_without_errors_does_not_stop_the_others(quick, tmp_path):
    for r in range(2):
        p = read_predictions(quick / NAME / f"run-{r}" / "digits.npz")
        folder = tmp_path / NAME / f"run-{r}"
        folder.mkdir(parents=True)
        labels = np.argmax(np.mean(p.probs, axis=0), axis=-1) if r else p.y_true
        write_predictions(folder / "digits.npz", p.probs, labels, p.class_names)
    output = run("arc", "--quick", "-o", tmp_path)
    assert "2 runs" in output
    stored = json.loads((tmp_path / NAME / "arc.json").read_text())["numbers"]
    assert stored["accuracy"]["runs"][1] == 1
    for kind in ("share of the possible gain", "monotonicity"):
        cell = pick(stored[kind], measure="entropy", part="total")
        assert (cell["mean"], cell["low"], cell["runs"][1]) == (None, None, None)
        assert cell["runs"][0] is not None
    assert "0 differ" in run("audit", "-o", tmp_path)


def test_predictions_that_are_not_those_of_the_setting_are_refused(quick, tmp_path):
    p = read_predictions(quick / NAME / "run-0" / "digits.npz")
    path = tmp_path / NAME / "run-0" / "digits.npz"
    path.parent.mkdir(parents=True)
    for probs, labels, message in (
        (
            p.probs,
            None,
            (
                "must hold `log_probs`, `class_names`, `y_true`; it holds `log_probs`, "
                "`class_names`. Delete it"
            ),
        ),
        (p.probs[:1], p.y_true, "must hold the predictions of 2 members; it holds 1. Delete it"),
    ):
        write_predictions(path, probs, labels, p.class_names)
        assert f"{str(path)!r} {message}" in " ".join(
            run("arc", "--quick", "--runs", 1, "-o", tmp_path, code=2).split()
        )


def test_published_arrays(tmp_path):
    rng = np.random.default_rng(0)
    before = rng.exponential([1, 2, 3, 9], (5, 40, 4))
    path = tmp_path / "label_uq_holdout_made.npz"
    np.savez(path, eus_before=before, eus_after=before * rng.uniform(0.3, 0.9, (5, 1, 4)))
    assert "made: Drop in mean EU" in run("published", path, "-o", tmp_path)
    (tmp_path / "published" / "made.json").unlink()
    before[0, 0, 0] = np.nan
    np.savez(path, eus_before=before, eus_after=before)
    assert f"{path.name}: `before` must be finite; 1 of 800 values are not" in run(
        "published", path, "-o", tmp_path, code=2
    )
    assert not (tmp_path / "published" / "made.json").exists()


def test_the_bundled_predictions_are_those_of_run_0():
    """What the library holds against what the command makes of the stored results; its images need
    the data set.
    """
    from labelwise_lab.paper.bundle import OOD, bundled_arrays
    from labelwise_lab.paper.prediction_files import read_predictions

    folder = ROOT / "results" / "fashion-mnist-paper" / "run-0"
    inside = read_predictions(folder / "fashion-mnist.npz", labeled=True)
    outside = {name: read_predictions(folder / f"{name}.npz") for name in OOD}
    arrays, cases = bundled_arrays(inside, outside)
    assert len(cases) == 2000
    with np.load(Path(lw.demo.__file__).parent / "fashion.npz") as stored:
        assert set(stored) == {*arrays, "images"}
        for name, array in arrays.items():
            np.testing.assert_array_equal(stored[name], array)


def test_bundle(tmp_path):
    from labelwise.io import Predictions
    from labelwise_lab.paper.bundle import bundle, notable

    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.05), (3, 3000)).astype(np.float32)
    y_true = np.arange(3000) % 10
    inside = Predictions(probs=probs, y_true=y_true, class_names=tuple("abcdefghij"))
    outside = {name: Predictions(probs=probs[:, :100]) for name in ("mnist", "kmnist")}
    images = rng.integers(0, 256, (3000, 28, 28), dtype=np.uint8)
    bundle(inside, outside, images, tmp_path / "b.npz")
    stored = np.load(tmp_path / "b.npz")
    np.testing.assert_array_equal(np.bincount(stored["y_true"]), np.full(10, 60))
    cases = np.sort(np.concatenate([np.arange(k, 3000, 50) for k in range(10)]))
    np.testing.assert_allclose(
        np.exp(stored["log_probs"].astype(float)), probs[:, cases], atol=1e-3
    )
    np.testing.assert_array_equal(stored["images"], images[cases[stored["image_index"]]])
    assert stored["log_probs_mnist"].shape == (3, 5, 10)
    index = notable(lw.Ensemble(probs))
    assert len(index) == len(set(index.tolist())) == 400
    assert int(lw.decompose(lw.Ensemble(probs)).sum().epistemic.argmax()) in index
    with pytest.raises(ValueError, match="`inside` must have `probs`, `y_true` and `class_names`"):
        bundle(Predictions(probs=probs), outside, images, tmp_path / "c.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["b.npz"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("ood", "--data", "mnist"),
            (
                "there is no out-of-distribution experiment for mnist; there are fashion-mnist "
                "(mnist, kmnist)"
            ),
        ),
        (
            ("arc", "--quick", "--data", "mnist"),
            "--quick uses scikit-learn's digits; it cannot be combined with --data mnist",
        ),
        (("human", "--data", "mnist"), "people voted on the test images of cifar10"),
        (("arc", "--data", "digits", "--change", "color=red"), "a change must be FIELD=VALUE"),
        (
            ("holdout", "--data", "digits", "--members", "1"),
            "`members` must be at least 2: a single network has no epistemic uncertainty",
        ),
        (
            ("artifact", "--data", "digits", "--members", "1"),
            "`members` must be at least 2: a single network has no epistemic uncertainty",
        ),
        (
            ("holdout", "--quick", "--arm", "old-pol"),
            "'old-pol' is not one of 'swap', 'no-swap', 'old-pool'",
        ),
        (("holdout", "--epochs", "3"), "No such option '--epochs'"),
        (("gallery", "--runs", "3"), "No such option '--runs'"),
        (("page",), "there is no results folder"),
        (("audit",), "there is no results folder"),
        (("fingerprint",), "a comparison needs several runs of fashion-mnist-paper"),
    ],
)
def test_refusals(args, message, tmp_path):
    assert message in " ".join(run(*args, "-o", tmp_path / "results", code=2).split())


def test_missing_data_is_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWISE_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    output = " ".join(run("arc", "--data", "mnist", "-o", tmp_path / "results", code=2).split())
    assert "MNIST (mnist) was not found" in output
    assert not list((tmp_path).glob("results/*/*/training"))
