"""Models and data as users have them, to a distribution; every result against the models asked by hand."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import labelwise as lw
from optional_libraries import optional

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
CODES = np.argmax(X[:, :3] + 0.3 * RNG.normal(size=(60, 3)), axis=1)
Y = np.array(["ant", "bee", "cat"])[CODES]
BINARY = np.where(X[:, 0] > 0, "yes", "no")


def net(outputs: int = 3, *, dropout: float = 0.0) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, outputs))


@pytest.fixture
def nets() -> list[nn.Module]:
    torch.manual_seed(0)
    return [net() for _ in range(3)]


def softmax_by_hand(nets: list[nn.Module], x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.stack([torch.softmax(n.eval()(torch.from_numpy(x)), -1).numpy() for n in nets])


# --- torch


def test_modules_and_a_loader_in_two_lines(nets):
    loader = DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(CODES)), batch_size=16)
    q, y = lw.from_models(nets, loader, class_names=["ant", "bee", "cat"], return_labels=True)
    np.testing.assert_allclose(q.probs, softmax_by_hand(nets, X), atol=1e-6)
    np.testing.assert_array_equal(y, CODES)
    assert isinstance(q.probs, np.ndarray)
    assert lw.decompose(q)["cat"].epistemic.shape == (60,)


@pytest.mark.parametrize("batch_size", [None, 1, 7, 100])
def test_arrays_tensors_and_double_precision(nets, batch_size):
    expected = softmax_by_hand(nets, X)
    for x in (X, X.astype(np.float64), X.tolist()):
        q = lw.from_models(nets, x, batch_size=batch_size)
        assert isinstance(q.probs, np.ndarray)
        np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    q = lw.from_models(nets, torch.from_numpy(X), batch_size=batch_size)
    assert isinstance(q.probs, torch.Tensor)
    np.testing.assert_allclose(q.probs.numpy(), expected, atol=1e-6)


def test_modes_gradients_and_random_state_are_restored(nets):
    nets[0].train()
    nets[1].eval()
    nets[2].train()
    nets[2][1].eval()
    statistics = nets[0][1].running_mean.clone()
    state = torch.get_rng_state()
    q = lw.from_models(nets, torch.from_numpy(X))
    assert [n.training for n in nets] == [True, False, True]
    assert not nets[2][1].training
    assert nets[2][0].training
    assert torch.equal(nets[0][1].running_mean, statistics)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert not q.probs.requires_grad
    with pytest.raises(RuntimeError):
        lw.from_models(nets, np.ones((2, 5), np.float32))
    assert [n.training for n in nets] == [True, False, True]


def test_one_module_with_dropout_is_mc_dropout():
    torch.manual_seed(0)
    model = net(dropout=0.5)
    q = lw.from_models(model, X)
    assert q.probs.shape == (50, 60, 3)
    assert q.probs.std(0).max() > 0.01
    np.testing.assert_array_equal(lw.from_models(model, X, rng=0).probs, q.probs)
    assert np.abs(lw.from_models(model, X, rng=1).probs - q.probs).max() > 0.01
    assert lw.from_models([model, model], X, n_samples=4).probs.shape == (8, 60, 3)
    # A list is an ensemble: dropout is off, and both members are the same network.
    q = lw.from_models([model, model], X)
    np.testing.assert_array_equal(q.probs[0], q.probs[1])
    with pytest.raises(ValueError, match="needs dropout layers with p > 0 in every module"):
        lw.from_models(net(), X, n_samples=5)


def test_one_module_without_dropout_is_one_member():
    q = lw.from_models(net(), X)
    assert q.n_members == 1
    assert lw.decompose(q).epistemic.max() == 0


class Hugging(nn.Module):
    """Takes inputs by name and returns an output with ``logits``, like the models of transformers."""

    def __init__(self, names: dict[int, str], problem_type: str | None = None) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.config = SimpleNamespace(id2label=names, problem_type=problem_type)

    def forward(self, values, mask):
        return SimpleNamespace(logits=self.layer(values * mask), loss=None)


def test_outputs_with_logits_inputs_by_name_and_names_of_the_configuration():
    models = [Hugging({0: "ant", 1: "bee", 2: "cat"}) for _ in range(2)]
    mask = np.ones_like(X)
    q = lw.from_models(models, {"values": X, "mask": mask}, batch_size=25)
    assert q.class_names == ("ant", "bee", "cat")
    expected = softmax_by_hand([m.layer for m in models], X)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    batches = [{"values": torch.from_numpy(X[i : i + 20]), "mask": 1.0, "labels": torch.from_numpy(CODES[i : i + 20])} for i in (0, 20, 40)]
    q, y = lw.from_models(models, iter(batches), return_labels=True)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    np.testing.assert_array_equal(y, CODES)
    assert lw.from_models(Hugging({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}), {"values": X, "mask": mask}).class_names is None
    several = lw.from_models([Hugging({}, "multi_label_classification")], {"values": X, "mask": mask})
    assert isinstance(several, lw.MultiLabelEnsemble)
    with pytest.raises(ValueError, match="must have the same classes in the same order"):
        lw.from_models([models[0], Hugging({0: "bee", 1: "ant", 2: "cat"})], {"values": X, "mask": mask})


def test_segmentation_has_its_classes_on_another_axis():
    torch.manual_seed(0)
    models = [nn.Conv2d(1, 5, 3, padding=1) for _ in range(2)]
    images = RNG.normal(size=(3, 1, 6, 7)).astype(np.float32)
    q = lw.from_models(models, images, class_axis=1)
    assert q.probs.shape == (2, 3, 6, 7, 5)
    with torch.no_grad():
        by_hand = torch.softmax(models[1](torch.from_numpy(images)), 1).permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(q.probs[1], by_hand, atol=1e-6)
    with pytest.raises(ValueError, match="`class_axis` must be an axis of the models' output"):
        lw.from_models(models, images, class_axis=0)


def test_half_precision_and_another_device(nets):
    expected = softmax_by_hand(nets, X)
    q = lw.from_models([n.to(torch.bfloat16) for n in nets], X)
    assert q.probs.dtype == np.float32
    np.testing.assert_allclose(q.probs, expected, atol=0.02)
    q = lw.from_models(nets, X, device="cpu")
    assert next(nets[0].parameters()).dtype == torch.bfloat16
    with pytest.raises(ValueError, match="`device` is for torch modules"):
        lw.from_models(GaussianNB().fit(X, Y), X, device="cuda")


# --- two classes


def test_one_logit_becomes_two_classes():
    torch.manual_seed(0)
    models = [net(1) for _ in range(3)]
    with torch.no_grad():
        p = np.stack([torch.sigmoid(m.eval()(torch.from_numpy(X)))[:, 0].numpy() for m in models])
    for given in (models, [nn.Sequential(m, nn.Flatten(0)) for m in models]):
        q = lw.from_models(given, X, class_names=["no", "yes"])
        np.testing.assert_allclose(q.probs, np.stack([1 - p, p], -1), atol=1e-6)
    sigmoid = [nn.Sequential(m, nn.Sigmoid()) for m in models]
    np.testing.assert_allclose(lw.from_models(sigmoid, X, activation="none").probs[..., 1], p, atol=1e-6)
    with pytest.raises(ValueError, match="one output between 0 and 1: pass activation='none' if it is the probability"):
        lw.from_models(sigmoid, X)
    with pytest.raises(ValueError, match="a softmax of one output is always 1"):
        lw.from_models(models, X, activation="softmax")
    with pytest.raises(ValueError, match=r"must lie between 0 and 1; got .* Pass activation='sigmoid'"):
        lw.from_models(models, X, activation="none")


def test_functions_of_one_probability():
    functions = [lambda x, s=s: 1 / (1 + np.exp(-s * x[:, 0])) for s in (1, 2)]
    q = lw.from_models(functions, X)
    assert q.probs.shape == (2, 60, 2)
    np.testing.assert_allclose(q.probs[1, :, 1], functions[1](X), rtol=1e-6)
    column = lw.from_models([lambda x: functions[0](x)[:, None]], X)
    np.testing.assert_array_equal(column.probs[0], q.probs[0])


# --- activations


def test_logits_and_probabilities_are_told_apart(nets):
    softmax = [nn.Sequential(n, nn.Softmax(-1)) for n in nets]
    with pytest.raises(ValueError, match=r"sum to 1: probabilities, not logits. Pass activation='none'"):
        lw.from_models(softmax, X)
    np.testing.assert_allclose(lw.from_models(softmax, X, activation="none").probs, softmax_by_hand(nets, X), atol=1e-6)
    scores = RNG.normal(size=(60, 3))
    with pytest.raises(ValueError, match=r"do not sum to 1 .* Pass activation='softmax' for logits, or activation='sigmoid'"):
        lw.from_models(lambda x: scores, X)
    q = lw.from_models(lambda x: scores, X, activation="softmax")
    np.testing.assert_allclose(q.probs[0], lw.Ensemble.from_logits(scores[None]).probs[0])
    several = lw.from_models([lambda x: scores] * 2, X, activation="sigmoid", class_names=["a", "b", "c"])
    assert isinstance(several, lw.MultiLabelEnsemble)
    np.testing.assert_allclose(several.probs[0], 1 / (1 + np.exp(-scores)))
    with pytest.raises(ValueError, match="`activation` must be one of 'softmax', 'sigmoid', 'none'; got 'logits'"):
        lw.from_models(nets, X, activation="logits")


# --- scikit-learn


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (RandomForestClassifier(7, random_state=0), 7),
        (ExtraTreesClassifier(6, random_state=0), 6),
        (BaggingClassifier(LogisticRegression(), 4, max_features=3, random_state=0), 4),
        (VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft", weights=[1, 3]), 2),
        (GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [2, 3]}, cv=2), 5),
        (CalibratedClassifierCV(LinearSVC(), cv=3), 3),
        (CalibratedClassifierCV(GaussianNB(), cv=3, ensemble=False), 1),
        (make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)), 5),
        (GridSearchCV(make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=2)), {}, cv=2), 2),
        (lw.predictors.LabelwiseClassifier(n_members=3, random_state=0), 3),
        (HistGradientBoostingClassifier(max_iter=5), 1),
        (GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2), 1),
        (make_pipeline(StandardScaler(), GaussianNB()), 1),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else str(value),
)
def test_the_mean_of_the_members_is_the_prediction_of_the_model(model, n):
    model.fit(X, Y)
    q = lw.from_models(model, X[:20])
    assert q.n_members == n
    assert q.class_names == ("ant", "bee", "cat")
    np.testing.assert_allclose(q.mean(), model.predict_proba(X[:20]), atol=1e-6)


def test_lists_and_cross_validation():
    models = [LogisticRegression(C=c).fit(X, Y) for c in (0.1, 1, 10)]
    q = lw.from_models(models, X)
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(X) for m in models]))
    folds = cross_validate(LogisticRegression(), X, Y, cv=4, return_estimator=True)
    q = lw.from_models(folds, X)
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(X) for m in folds["estimator"]]))
    assert lw.from_models(folds["estimator"], X).n_members == 4
    forests = [RandomForestClassifier(3, random_state=i).fit(X, Y) for i in range(2)]
    assert lw.from_models(forests, X).n_members == 2  # of a list, each is one member
    with pytest.raises(TypeError, match="return_estimator=True"):
        lw.from_models(cross_validate(GaussianNB(), X, Y), X)


def test_members_that_have_not_seen_a_class_give_it_no_probability():
    some = Y != "bee"
    models = [DecisionTreeClassifier(max_depth=2).fit(X, Y), DecisionTreeClassifier(max_depth=2).fit(X[some], Y[some])]
    q = lw.from_models(models, X)
    assert q.class_names == ("ant", "bee", "cat")
    assert q.probs[1, :, 1].max() == 0
    np.testing.assert_allclose(q.probs[1][:, [0, 2]], models[1].predict_proba(X))


def test_tables_of_pandas_and_their_string_labels():
    pandas = optional("pandas")
    table = pandas.DataFrame(X, columns=list("abcd"))
    y = pandas.Series(Y)
    q = lw.from_models([GaussianNB().fit(table, y), LogisticRegression().fit(table, y)], table)
    assert lw.evaluation.by_class(lw.decompose(q), y).counts.sum() == 60
    assert float(lw.calibration.calibration_errors(q, y.astype("category")).ece) < 0.5


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (Ridge().fit(X, CODES), TypeError, "Ridge is a regressor"),
        (LogisticRegression(), ValueError, r"must be fitted; this LogisticRegression is not"),
        (LinearSVC().fit(X, Y), TypeError, "LinearSVC has none. Wrap it in sklearn.calibration.CalibratedClassifierCV"),
        (VotingClassifier([("a", GaussianNB())]).fit(X, Y), ValueError, "voting='soft'"),
        (DecisionTreeClassifier().fit(X, np.stack([CODES, CODES], 1)), ValueError, "has 2 outputs"),
        (RandomForestClassifier, TypeError, "Call it and fit it first"),
        ([], ValueError, "at least one model"),
        ("model.pt", TypeError, "`models` must be torch modules, classifiers with predict_proba"),
        ([GaussianNB().fit(X, Y), net()], TypeError, "all of one kind; got GaussianNB, Sequential"),
    ],
)
def test_other_models_get_a_sentence(model, error, sentence):
    with pytest.raises(error, match=sentence):
        lw.from_models(model, X)


# --- loaders and inputs


def test_loaders_that_would_lose_the_order_are_refused(nets):
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(CODES))
    shuffled = DataLoader(data, batch_size=16, shuffle=True)
    with pytest.raises(ValueError, match=r"the loader shuffles, .*return_labels=True"):
        lw.from_models(nets, shuffled)
    q, y = lw.from_models(nets, shuffled, return_labels=True)
    expected = softmax_by_hand(nets, X)
    for k in range(3):
        np.testing.assert_allclose(np.sort(q.probs[0][y == k, 0]), np.sort(expected[0][k == CODES, 0]), atol=1e-6)


def test_labels_are_asked_for_where_there_are_some(nets):
    with pytest.raises(ValueError, match="needs a loader that gives labels; `X` has none"):
        lw.from_models(nets, X, return_labels=True)
    with pytest.raises(ValueError, match=r"batches \(inputs, labels\) or mappings"):
        lw.from_models(nets, DataLoader(TensorDataset(torch.from_numpy(X))), return_labels=True)
    assert lw.from_models(nets, (X[i : i + 20] for i in (0, 20, 40))).probs.shape == (3, 60, 3)


def test_several_inputs_come_before_the_labels():
    class Two(nn.Module):
        def forward(self, a, b):
            return torch.stack([a.sum(1), b.sum(1)], 1)

    loader = DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(-X), torch.from_numpy(CODES)), batch_size=32)
    q, y = lw.from_models([Two()], loader, return_labels=True)
    np.testing.assert_allclose(q.probs[0, :, 0], 1 / (1 + np.exp(-2 * X.sum(1))), atol=1e-6)
    np.testing.assert_array_equal(y, CODES)


def test_inputs_that_cannot_be_used_get_a_sentence(nets):
    with pytest.raises(TypeError, match=r"got TensorDataset\. Wrap a torch Dataset in a DataLoader"):
        lw.from_models(nets, TensorDataset(torch.from_numpy(X)))
    with pytest.raises(ValueError, match="at least one instance"):
        lw.from_models(nets, X[:0])
    with pytest.raises(ValueError, match="gave no batch"):
        lw.from_models(nets, iter([]))
    with pytest.raises(TypeError, match="must hold numbers"):
        lw.from_models(nets, np.array([["a", "b", "c", "d"]]))
    with pytest.raises(ValueError, match=r"one row of scores per instance; got shape \(3,\) for 60"):
        lw.from_models(lambda x: np.full(3, 1 / 3), X)
    with pytest.raises(ValueError, match=r"outputs of one shape; got \(60, 2\) and \(60, 3\)"):
        lw.from_models([lambda x: np.full((60, 3), 1 / 3), lambda x: np.full((60, 2), 1 / 2)], X)
    with pytest.raises(TypeError, match="floating-point scores; got int"):
        lw.from_models(lambda x: np.zeros((60, 3), int), X)
    with pytest.raises(ValueError, match="different shapes; pad"):
        lw.from_models(lambda x: np.full((len(x), x.shape[1], 2), 0.5), iter([X[:2], X[:2, :3]]))
    with pytest.raises(TypeError, match="must return a tensor of class scores, or an output with `logits`; got tuple"):
        lw.from_models(type("Pair", (nn.Module,), {"forward": lambda self, x: (x, x)})(), X)
    with pytest.raises(ValueError, match="`n_samples` is for dropout in torch modules and for catboost"):
        lw.from_models(GaussianNB().fit(X, Y), X, n_samples=3)
    with pytest.raises(ValueError, match="`n_samples` must be a positive integer"):
        lw.from_models(nets, X, n_samples=0)


def test_a_progress_bar_is_for_terminals(nets, monkeypatch, capsys):
    lw.from_models(nets, X, batch_size=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    lw.from_models(nets, X, batch_size=1)
    assert "predicting" in capsys.readouterr().err
    lw.from_models(nets, X, batch_size=1, progress=False)
    assert capsys.readouterr().err == ""


def test_predict_ensemble_points_here(nets):
    loader = DataLoader(TensorDataset(torch.from_numpy(X)))
    with pytest.raises(TypeError, match=r"got list\. For models of your own use lw\.from_models"):
        lw.predictors.predict_ensemble(nets, loader)
