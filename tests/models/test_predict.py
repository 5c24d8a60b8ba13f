"""Models and data as users have them, to a distribution; every result against the models asked by
hand.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from rich.progress import track
from sklearn.ensemble import (
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import labelwise as lw
from labelwise._errors import InputError
from model_cases import CODES, RNG, X, Y, net, softmax_by_hand
from optional_libraries import optional


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


def test_one_logit_becomes_two_classes():
    torch.manual_seed(0)
    models = [net(1) for _ in range(3)]
    with torch.no_grad():
        p = np.stack([torch.sigmoid(m.eval()(torch.from_numpy(X)))[:, 0].numpy() for m in models])
    for given in (models, [nn.Sequential(m, nn.Flatten(0)) for m in models]):
        q = lw.from_models(given, X, class_names=["no", "yes"])
        np.testing.assert_allclose(q.probs, np.stack([1 - p, p], -1), atol=1e-6)
    sigmoid = [nn.Sequential(m, nn.Sigmoid()) for m in models]
    np.testing.assert_allclose(
        lw.from_models(sigmoid, X, activation="none").probs[..., 1], p, atol=1e-6
    )
    with pytest.raises(
        ValueError,
        match="one output between 0 and 1: pass activation='none' if it is the probability",
    ):
        lw.from_models(sigmoid, X)
    with pytest.raises(ValueError, match="a softmax of one output is always 1"):
        lw.from_models(models, X, activation="softmax")
    with pytest.raises(ValueError, match="`probs` must lie between 0 and 1; values range"):
        lw.from_models(models, X, activation="none")
    logits = np.array([-1.0, 0.5, 2.0])
    with pytest.raises(
        ValueError, match=r"no probabilities .*'sigmoid' for the logit of the second"
    ):
        lw.from_models(lambda x: logits, X[:3])
    few = [lambda x: logits[:1], lambda x: logits[1:2]]  # one is between 0 and 1 by chance
    q = lw.from_models(few, X[:1], activation="sigmoid")
    np.testing.assert_allclose(q.probs[:, 0, 1], 1 / (1 + np.exp(-logits[:2])))


def test_functions_of_one_probability():
    functions = [lambda x, s=s: 1 / (1 + np.exp(-s * x[:, 0])) for s in (1, 2)]
    q = lw.from_models(functions, X)
    assert q.probs.shape == (2, 60, 2)
    np.testing.assert_allclose(q.probs[1, :, 1], functions[1](X), rtol=1e-6)
    column = lw.from_models([lambda x: functions[0](x)[:, None]], X)
    np.testing.assert_array_equal(column.probs[0], q.probs[0])


def test_logits_and_probabilities_are_told_apart(nets):
    softmax = [nn.Sequential(n, nn.Softmax(-1)) for n in nets]
    with pytest.warns(
        UserWarning, match="sum to 1, so they are taken as probabilities, without a softmax"
    ) as caught:
        q = lw.from_models(softmax, X)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(q.probs, softmax_by_hand(nets, X), atol=1e-6)
    np.testing.assert_allclose(
        lw.from_models(softmax, X, activation="none").probs, softmax_by_hand(nets, X), atol=1e-6
    )
    again = lw.from_models(softmax, X, activation="softmax")  # who says so gets it
    assert np.ptp(again.probs) < np.ptp(q.probs)
    sigmoid = [nn.Sequential(n, nn.Sigmoid()) for n in nets]
    with pytest.raises(InputError) as error:
        lw.from_models(sigmoid, X)
    assert re.fullmatch(
        r"the models give values between 0 and 1 that do not sum to 1 over the classes \(sums "
        r"range from [0-9.]+ to [0-9.]+\): a sigmoid seems "
        r"to have been taken already\. If labels may occur together, use "
        r"lw\.MultiLabelEnsemble\(np\.stack\(\[model\(x\) for model in "
        r"models\]\)\)\. If they are logits all the same, pass activation='softmax', or 'sigmoid' "
        r"for labels that may occur together",
        str(error.value),
    )
    scores = RNG.normal(size=(60, 3))
    with pytest.raises(
        ValueError,
        match=r"no probabilities .* Pass activation='softmax' for logits, or activation='sigmoid'",
    ):
        lw.from_models(lambda x: scores, X)
    q = lw.from_models(lambda x: scores, X, activation="softmax")
    np.testing.assert_allclose(q.probs[0], lw.Ensemble.from_logits(scores[None]).probs[0])
    several = lw.from_models(
        [lambda x: scores] * 2, X, activation="sigmoid", class_names=["a", "b", "c"]
    )
    assert isinstance(several, lw.MultiLabelEnsemble)
    np.testing.assert_allclose(several.probs[0], 1 / (1 + np.exp(-scores)))
    with pytest.raises(
        ValueError, match="`activation` must be one of 'softmax', 'sigmoid', 'none'; got 'logits'"
    ):
        lw.from_models(nets, X, activation="logits")


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (Ridge().fit(X, CODES), TypeError, "Ridge is a regressor"),
        (LogisticRegression(), ValueError, r"This LogisticRegression instance is not fitted yet"),
        (
            LinearSVC().fit(X, Y),
            TypeError,
            "LinearSVC has none. Wrap it in sklearn.calibration.CalibratedClassifierCV",
        ),
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


def test_a_progress_bar_around_a_loader(nets, capsys):
    loader = DataLoader(TensorDataset(torch.tensor(X)), batch_size=50)
    q = lw.from_models(nets, track(loader, "predicting"))
    np.testing.assert_array_equal(q.probs, lw.from_models(nets, loader).probs)
    assert "predicting" in capsys.readouterr().out


def test_the_index_of_a_table_is_kept():
    pandas = optional("pandas")
    frame = pandas.DataFrame(X.astype(float), index=[f"case{i}" for i in range(len(X))])
    truth = pandas.Series(Y, index=frame.index)
    model = LogisticRegression().fit(X.astype(float), Y)
    model_of_frames = LogisticRegression().fit(frame, Y)
    expected = lw.evaluation.brier_score(lw.from_models(model, X.astype(float)), Y).value
    q = lw.from_models(model_of_frames, frame)
    assert list(q.ids) == list(frame.index)
    assert lw.evaluation.brier_score(
        q, truth.sample(frac=1, random_state=0)
    ).value == pytest.approx(expected)
    assert lw.from_models(model, X.astype(float)).ids is None


@pytest.mark.parametrize("known", [0, 2])
def test_each_model_is_asked_for_logits_or_probabilities(nets, known):
    mixed = list(nets)
    mixed[known] = nn.Sequential(nets[known], nn.Softmax(-1))
    others = ", ".join(str(i) for i in range(len(nets)) if i != known)
    sentence = (
        "the models must all give probabilities, or all logits; of those numbered from 0, "
        f"{known} give probabilities, {others} logits. Take the softmax or sigmoid out of the "
        "first, or apply it in the others too"
    )
    with pytest.raises(InputError) as caught:
        lw.from_models(mixed, X)
    assert str(caught.value) == sentence
    with pytest.raises(InputError, match=re.escape(sentence)):
        lw.from_models([lambda x, n=n: n(torch.as_tensor(x)).detach() for n in mixed], X)


def test_each_model_of_two_classes_is_asked_for_logits_or_probabilities():
    torch.manual_seed(0)
    first, second = net(1), net(1)
    with pytest.raises(
        InputError,
        match="1 give probabilities, 0 logits",
    ):
        lw.from_models([first, nn.Sequential(second, nn.Sigmoid())], X)


def test_dictionaries_and_lists_of_modules_name_the_members(nets):
    expected = softmax_by_hand(nets, X)
    names = [f"net {i}" for i in range(len(nets))]
    named = dict(zip(names, nets, strict=True))
    for models in (named, nn.ModuleDict(named)):
        q = lw.from_models(models, X)
        assert q.member_names == tuple(names)
        np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    q = lw.from_models(nn.ModuleList(nets), X)
    assert q.member_names is None
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)


def test_estimators_name_the_members():
    models = {"logistic": LogisticRegression().fit(X, Y), "bayes": GaussianNB().fit(X, Y)}
    q = lw.from_models(models, X)
    assert q.member_names == ("logistic", "bayes")
    np.testing.assert_allclose(q.probs[1], models["bayes"].predict_proba(X))
    voting = VotingClassifier(list(models.items()), voting="soft").fit(X, Y)
    assert lw.from_models(voting, X).member_names == ("logistic", "bayes")


def test_dropout_of_named_modules():
    module = nn.Sequential(nn.Linear(X.shape[1], 8), nn.Dropout(0.5), nn.Linear(8, 3))
    q = lw.from_models({"a": module, "b": module}, X, n_samples=2)
    assert q.member_names == ("a / 0", "a / 1", "b / 0", "b / 1")


class TakesTheBatch(nn.Module):
    """A model whose only parameter is the batch."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, batch):
        return self.inner(batch["image"] + batch["shift"])


def test_batches_that_are_dictionaries(nets):
    """By name, as the only input under another name, and whole."""
    expected = softmax_by_hand(nets, X)
    images, labels = torch.from_numpy(X), torch.from_numpy(CODES)
    loader = [{"image": images[i : i + 20], "label": labels[i : i + 20]} for i in (0, 20, 40)]

    def batches():
        yield from loader

    q, y = lw.from_models(nets, batches(), return_labels=True)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    np.testing.assert_array_equal(y, CODES)
    for batch in loader:
        batch["shift"] = torch.zeros(1)
    whole = [TakesTheBatch(model) for model in nets]
    np.testing.assert_allclose(lw.from_models(whole, batches()).probs, expected, atol=1e-6)
    functions = [lambda image, model=model: softmax_by_hand([model], image)[0] for model in nets]
    q = lw.from_models(functions, ({"x": batch["image"].numpy()} for batch in loader))
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
