"""Figures like the paper's: CT, PET with the outline, and bars of all labels."""

from __future__ import annotations

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from labelwise.plots._style import ALEATORIC, EPISTEMIC, TRUTH  # noqa: E402
from labelwise_lab.petct import plot_slices  # noqa: E402
from labelwise_lab.petct.figures import OUTLINE  # noqa: E402
from labelwise_lab.petct.results import predicted_class  # noqa: E402


def test_figure_2(prepared, results):
    """CT in gray, PET with the outline, bars of all labels in two colors; truth green, prediction
    underlined.
    """
    test = results["test"]
    prediction = predicted_class(test.slices)
    i = int(np.argmax(test.part.lesion_voxels))
    figure = plot_slices(prepared, test.part, test.u, [i], y_pred=prediction)
    ct, pet, bars = figure.axes
    assert ct.images[0].get_cmap().name == "gray"
    assert pet.images[0].get_cmap().name == "gray_r"
    suv = pet.images[0].get_array()
    mask = test.part.lesions(i)
    (outline,) = pet.collections
    assert to_hex(outline.get_edgecolor()[0]) == OUTLINE.lower()
    points = np.concatenate([path.vertices for path in outline.get_paths()])
    inside = suv[
        np.clip(points[:, 1].round().astype(int), 0, len(suv) - 1),
        np.clip(points[:, 0].round().astype(int), 0, suv.shape[1] - 1),
    ]
    assert inside.mean() > suv.mean()  # it lies on what is hot
    assert mask.any()
    heights = {to_hex(bar.get_facecolor()): [] for bar in bars.patches}
    for bar in bars.patches:
        heights[to_hex(bar.get_facecolor())].append(bar.get_height())
    np.testing.assert_allclose(heights[EPISTEMIC.lower()], test.u.epistemic[i], rtol=1e-5)
    np.testing.assert_allclose(heights[ALEATORIC.lower()], test.u.aleatoric[i], rtol=1e-5)
    assert bars.get_ylim()[1] >= 0.25  # bits: a slice that is certain looks certain
    labels = bars.get_xticklabels()
    assert [to_hex(label.get_color()) == TRUTH.lower() for label in labels] == [
        k == test.part.y[i] for k in range(4)
    ]
    assert ["\u0332" in label.get_text() for label in labels] == [
        k == prediction[i] for k in range(4)
    ]
    plt.close(figure)


def test_a_held_back_slice_has_its_diagnosis_in_the_title_and_no_green_label(prepared, results):
    held = results["held back"]
    prediction = predicted_class(held.slices)
    figure = plot_slices(prepared, held.part, held.u, [0, 3], y_pred=prediction)
    assert len(figure.axes) == 6
    assert ": bone metastases" in figure.axes[3].get_title(loc="left")
    colors = {to_hex(label.get_color()) for label in figure.axes[5].get_xticklabels()}
    assert TRUTH.lower() not in colors
    plt.close(figure)
    with pytest.raises(ValueError, match="at least one slice"):
        plot_slices(prepared, held.part, held.u, [], y_pred=prediction)
