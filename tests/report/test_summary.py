"""What is on the page, computed exactly over all instances; and what the predictions become in few bytes."""

from __future__ import annotations

import base64
import io
import json
import struct

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.cli import main
from labelwise.cli.demo import summary
from labelwise.io import predictions
from labelwise.report import build_report, embed, write_report
from labelwise.report.embed import png, quantize, restore, thumbnails
from labelwise.report.explanations import HELP, SENTENCES, SHORT, verdict
from report_pages import LOSSES, PARTS, ensemble


def numbers(data):
    """All numbers of a report in one list, packed ones and text left out."""
    if isinstance(data, dict):
        return [x for key, part in data.items() if key not in ("sample", "images", "version") for x in numbers(part)]
    if isinstance(data, list | tuple | np.ndarray):
        return [x for part in data for x in numbers(part)]
    return [] if isinstance(data, str) or data is None else [float(data)]


def test_blocks_do_not_matter(monkeypatch) -> None:
    q, y = ensemble(n=200, k=4)
    outside, _ = ensemble(n=50, k=4, seed=9)
    whole = build_report(q, y_true=y, ood={"other": outside})
    monkeypatch.setattr(predictions, "BLOCK", 4 * 5 * 37)
    seen = []
    blocks = build_report(q, y_true=y, ood={"other": outside}, progress=lambda done, all_: seen.append((done, all_)))
    np.testing.assert_allclose(numbers(blocks.data), numbers(whole.data), rtol=1e-12, equal_nan=True)
    assert blocks.data["sample"] == whole.data["sample"]
    assert seen == [(done, 200) for done in (37, 74, 111, 148, 185, 200)]


def test_numbers_are_the_librarys() -> None:
    q, y = ensemble(n=150, k=4)
    outside, _ = ensemble(n=50, k=4, seed=9)
    data = build_report(q, y_true=y, ood={"other": outside}).data
    correct = q.mean().argmax(-1) == y
    for loss in data["losses"]:
        u = lw.decompose(q, loss["key"])
        by = lw.evaluation.by_class(u, y, mean=q.mean())
        for part in PARTS:
            score = getattr(u.sum(), part)
            for rule in ("own", "likely", "everywhere"):
                np.testing.assert_allclose(loss["labels"][rule][part], getattr(getattr(by, rule), part).value, rtol=1e-12)
            curve = lw.evaluation.rejection_curve(score, correct=correct)
            number = np.arange(200) * 150 // 200
            np.testing.assert_allclose(loss["rejection"][part]["value"], curve.value[number])
            assert data["rejection"]["n_rejected"].tolist() == number.tolist()
            assert loss["rejection"][part]["augrc"] == pytest.approx(curve.augrc)
            told = lw.evaluation.detection_scores(score, getattr(lw.decompose(outside, loss["key"]).sum(), part), n_bootstrap=0)
            found = data["detection"][0]["losses"][loss["key"]][part]
            assert found["auroc"] == pytest.approx(float(told.auroc))
            assert found["fpr95"] == pytest.approx(float(told.fpr95))
            assert np.sum(found["outside"]) == pytest.approx(1)
    guess = q.mean().argmax(-1)
    assert data["classes"]["right"] == [int(np.sum((guess == k) & (y == k))) for k in range(4)]
    k, j, times = data["confusions"][0]
    assert times == max(np.sum((y == a) & (guess == b)) for a in range(4) for b in range(4) if a != b)
    assert times == np.sum((y == k) & (guess == j))
    assert data["calibration"]["ece"] == pytest.approx(lw.calibration.check_calibration(q, y, rng=0, n_bootstrap=20).ece)
    agreement = lw.evaluation.rank_agreement(lw.decompose(q, "log").sum().epistemic, lw.decompose(q, "zero_one").sum().epistemic)
    assert data["agreement"]["epistemic"][0][3] == pytest.approx(float(agreement.spearman))


def test_several_labels_are_judged_one_by_one() -> None:
    rng = np.random.default_rng(0)
    q = lw.MultiLabelEnsemble(rng.random((3, 50, 4)))
    y = rng.integers(0, 2, (50, 4))
    data = build_report(q, y_true=y).data
    right = (q.mean() > 0.5) == y
    assert data["accuracy"] == pytest.approx(right.mean())
    assert data["exact_match"] == pytest.approx(right.all(-1).mean())
    assert data["classes"]["true"] == y.sum(0).tolist()


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_two_bytes_keep_a_probability(values) -> None:
    p = np.array(values)
    back = restore(quantize(p), normalize=False)
    assert np.all(np.abs(back - p) <= np.pi / 4 / 65534 * (2 * np.sqrt(p * (1 - p)) + np.pi / 2 / 65534) + 1e-15)


def test_sure_and_even_probabilities_stay_exact() -> None:
    p = np.array([0.0, 0.5, 1.0])
    assert np.array_equal(restore(quantize(p), normalize=False), p)
    assert np.array_equal(restore(quantize(np.array([[0.5, 0.5], [0.0, 1.0]])), normalize=True), [[0.5, 0.5], [0.0, 1.0]])


def test_members_that_agree_have_no_epistemic_uncertainty_on_the_page() -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    error = build_report(lw.Ensemble(np.stack([p] * 4))).data["sample"]["error"]
    assert all(0 <= error[loss] < 5e-5 for loss in LOSSES)


@pytest.mark.parametrize("shape", [(5, 9, 9), (5, 7, 12, 3), (5, 200, 150), (5, 6, 6, 1), (5, 8, 8, 4)])
def test_thumbnails_are_the_images(shape, optional) -> None:
    image = optional("PIL.Image")
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    for i, text in enumerate(thumbnails(images, np.arange(5))):
        with image.open(io.BytesIO(base64.b64decode(text))) as opened:
            pixels = np.asarray(opened)
        if max(shape[1:3]) <= 64:
            expected = images[i][..., :3] if len(shape) == 4 and shape[3] >= 3 else images[i].reshape(shape[1:3])
            assert np.array_equal(pixels, expected)
        else:
            assert max(pixels.shape) <= 64
            assert abs(pixels.mean() - images[i].mean()) < 2


def test_float_images_are_scaled_and_png_is_png() -> None:
    for images in (np.random.default_rng(0).normal(size=(3, 4, 4)), np.zeros((2, 3, 3)), np.full((2, 3, 3), np.nan)):
        assert all(base64.b64decode(text).startswith(b"\x89PNG") for text in thumbnails(images, np.arange(2)))
    assert png(np.zeros((2, 3, 1), np.uint8)).endswith(b"IEND\xaeB`\x82")


def test_many_large_images_are_made_smaller_and_the_most_uncertain_come_first(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    noise = np.broadcast_to(rng.integers(0, 256, (1, 64, 64), dtype=np.uint8), (300, 64, 64))
    assert len(thumbnails(noise, np.arange(300))) == 300
    monkeypatch.setattr(embed, "IMAGE_BYTES", 300_000)
    found = thumbnails(noise, np.arange(300))
    assert struct.unpack(">II", base64.b64decode(found[0])[16:24]) == (32, 32)
    assert 300 > len(found) > 200
    q, _ = ensemble(n=300, k=3)
    images = build_report(q, images=noise).data["images"]
    score = lw.decompose(q).sum().total
    assert images["at"].tolist() == np.argsort(-score, kind="stable")[: len(found)].tolist()


@pytest.mark.parametrize(
    ("total", "share", "members", "cases", "word"),
    [
        (0.5, 0.8, 5, 10, "epistemic"),
        (0.5, 0.4, 5, 10, "mixed"),
        (0.5, 0.2, 5, 10, "aleatoric"),
        (0.01, 1.0, 5, 10, "none"),
        (0.5, 0.0, 1, 10, "unknown"),
        (0.5, 0.8, 5, 9, "few"),
        (0.01, 0.8, 5, 1, "few"),
        (np.nan, np.nan, 5, 0, "absent"),
        (0.5, 0.8, None, 10, "epistemic"),
    ],
)
def test_verdicts(total, share, members, cases, word) -> None:
    assert verdict(total, share, 1.0, members, cases) == word
    assert set(SENTENCES) == set(SHORT) == set(HELP)


def test_a_class_of_few_cases_is_not_judged() -> None:
    q, _ = ensemble(n=100, k=3)
    y = np.array([0] * 9 + [1] * 91)
    verdicts = build_report(q, y_true=y).data["losses"][0]["verdicts"]["own"]
    assert [verdicts[0], verdicts[2]] == ["few", "absent"]
    assert verdicts[1] not in ("few", "absent")


def test_page_and_commands_mean_the_same_by_epistemic_share(tmp_path) -> None:
    q, y = ensemble(n=200, k=3)
    path = tmp_path / "preds.npz"
    lw.io.save_predictions(path, probs=q.probs, y_true=y)
    page = build_report(q, y_true=y).data["losses"][0]["labels"]
    done = CliRunner().invoke(main, ["evaluate", str(path), "--json"])
    found = {x["class"]: x["epistemic_share"] for x in json.loads(done.stdout)["classes"]}
    u = lw.decompose(q)
    for k in range(3):
        share = u.epistemic[y == k, k].mean() / u.total[y == k, k].mean()  # a ratio of means
        assert abs(share - (u.epistemic / u.total)[y == k, k].mean()) > 1e-3  # not the mean of ratios
        assert page["own"]["epistemic_share"][k] == pytest.approx(share)
        assert found[str(k)] == pytest.approx(share)
    assert page["everywhere"]["epistemic_share"] == pytest.approx(lw.evaluation.by_class(u).ratio.value)
    demo_table = summary({**build_report(q, y_true=y).data})
    assert {x["class"]: x["epistemic_share"] for x in demo_table["classes"]} == pytest.approx(found)


@pytest.mark.parametrize("channels", [1, 3])
def test_channel_first_images_are_drawn_right(channels) -> None:
    q, _ = ensemble(n=20, k=3)
    images = np.random.default_rng(0).random((20, channels, 8, 12))
    first = build_report(q, images=images).data["images"]
    header = base64.b64decode(first["png"][0])[16:26]
    assert struct.unpack(">IIBB", header) == (12, 8, 8, {1: 0, 3: 2}[channels])
    assert first["png"] == build_report(q, images=np.moveaxis(images, 1, -1)).data["images"]["png"]


def test_out_of_distribution_predictions_need_no_name() -> None:
    q, y = ensemble(n=40, k=3)
    other, _ = ensemble(n=30, k=3, seed=5)
    report = build_report(q, y_true=y, ood=other)
    assert [x["name"] for x in report.data["detection"]] == ["out of distribution"]
    assert build_report(q, y_true=y, ood=lw.io.Predictions(probs=other.probs)).data["detection"][0]["n"] == 30
    with pytest.raises(TypeError, match=r"`ood` must be a distribution, Predictions, or a mapping.*got list"):
        build_report(q, y_true=y, ood=[other])


def test_a_report_prints_short() -> None:
    q, y = ensemble(n=100, k=3)
    report = build_report(q, y_true=y, title="<b>Pets</b>")
    assert len(repr(report)) < 200
    assert "100 cases" in repr(report)
    assert "<b>" not in report._repr_html_()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"max_instances": 0}, "`max_instances` must be a positive integer"),
        ({"ids": np.arange(3)}, "`ids` must have one entry for each of the N = 20"),
        ({"images": np.zeros((3, 4, 4))}, "3 `images` for 20 instances"),
        ({"images": np.zeros((3, 4, 4)), "image_index": [0, 1, 99]}, "`image_index` must be a position from 0 to 19"),
        ({"images": np.zeros((20, 4))}, "`images` must have shape"),
        ({"y_true": np.full(20, 7)}, "between 0 and 3"),
        ({"events": {"bad": ["nothing"]}}, "has no class names"),
        ({"ood": {"other": lw.Ensemble(np.full((2, 3, 2), 0.5))}}, "has 2 classes"),
        ({"multilabel": True}, "MultiLabelEnsemble"),
    ],
)
def test_wrong_use_has_its_sentence(change, sentence) -> None:
    q, y = ensemble(n=20, k=4)
    with pytest.raises(ValueError, match=sentence):
        build_report(q, **{"y_true": y, **change})


def test_other_wrong_use_has_its_sentence(tmp_path) -> None:
    q, _ = ensemble(n=20, k=4)
    with pytest.raises(ValueError, match=r"an \.html file; got 'page\.pdf'"):
        write_report(tmp_path / "page.pdf", q)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(tmp_path / "nowhere" / "page.html", q)
    with pytest.raises(TypeError, match="`q` must be a distribution"):
        build_report(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="instances on one axis"):
        build_report(lw.Ensemble(np.full((2, 3, 4, 5), 0.2)))
    with pytest.raises(ValueError, match="no instances"):
        build_report(lw.Ensemble(np.zeros((2, 0, 4))))


def test_other_array_libraries(lib) -> None:
    q, y = ensemble(n=20, k=3)
    expected = build_report(q, y_true=y).data["losses"][0]["mean"]["total"]
    found = build_report(lw.Ensemble(lib.array(q.probs)), y_true=lib.array(y, "int64")).data
    assert found["losses"][0]["mean"]["total"] == pytest.approx(expected)


def test_other_distributions() -> None:
    rng = np.random.default_rng(0)
    mixture = lw.DirichletMixture(rng.gamma(2, 1, (3, 20, 3)) + 0.1, weights=[1, 2, 3])
    normal = lw.LogisticNormal(rng.normal(size=(20, 3)), np.full((20, 3), 0.5))
    for q in (mixture, normal):
        data = build_report(q).data
        assert data["losses"][0]["mean"]["total"] == pytest.approx(lw.decompose(q).sum().total.mean(), rel=1e-6)
        assert data["members"] is None
