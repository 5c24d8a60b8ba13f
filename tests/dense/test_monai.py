"""The transform agrees with `decompose`, and keeps the place in the world."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from optional_libraries import optional
from volume_files import OBLIQUE, normalized, probabilities

torch = optional("torch")
KEYS = ["net1", "net2", "net3"]


def data() -> dict:
    return {
        key: torch.from_numpy(np.moveaxis(normalized(probabilities(m)), -1, 0).copy())
        for m, key in enumerate(KEYS)
    }


@pytest.mark.parametrize("part", ["total", "aleatoric", "epistemic"])
@pytest.mark.parametrize("multilabel", [False, True])
def test_values(part: str, multilabel: bool) -> None:
    given = data()
    found = lw.dense.LabelwiseUncertaintyd(KEYS, part=part, multilabel=multilabel)(given)
    kind = lw.MultiLabelEnsemble if multilabel else lw.Ensemble
    stacked = np.stack([np.moveaxis(given[key].numpy(), 0, -1) for key in KEYS])
    expected = np.moveaxis(getattr(lw.decompose(kind(stacked)), part), -1, 0)
    assert found[part].numpy() == pytest.approx(expected, abs=1e-6)
    assert set(found) == {*KEYS, part}
    assert set(given) == set(KEYS)


def test_identical_members_have_no_epistemic_part() -> None:
    given = dict.fromkeys(KEYS, data()["net1"])
    assert float(lw.dense.LabelwiseUncertaintyd(KEYS)(given)["epistemic"].max()) == 0


def test_arguments() -> None:
    with pytest.raises(InputError, match="at least two members; got 'net1'"):
        lw.dense.LabelwiseUncertaintyd("net1")
    with pytest.raises(InputError, match="`part`"):
        lw.dense.LabelwiseUncertaintyd(KEYS, part="doubt")


def test_meta_tensors_keep_their_affine() -> None:
    optional("monai")
    from monai.data import MetaTensor
    from monai.transforms import Compose

    given = {key: MetaTensor(x, affine=torch.tensor(OBLIQUE)) for key, x in data().items()}
    found = Compose([lw.dense.LabelwiseUncertaintyd(KEYS)])(given)["epistemic"]
    assert isinstance(found, MetaTensor)
    assert np.asarray(found.affine) == pytest.approx(OBLIQUE)
    plain = lw.dense.LabelwiseUncertaintyd(KEYS)(data())["epistemic"]
    assert np.asarray(found) == pytest.approx(plain.numpy())
