"""Tables as spreadsheets and programs write them, and cells that cannot become formulas."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from small_tables import IDS, NAMES, PROBS, Y, check


def test_a_table_without_a_header(tmp_path) -> None:
    np.savetxt(tmp_path / "p.csv", PROBS[0], delimiter=",")
    with pytest.warns(UserWarning, match="p.csv has no header; its 3 columns are taken for the classes 0 … 2"):
        p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, names=None, ids=None)


def test_one_long_id_does_not_take_the_memory_of_all(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,a,b\n" + "x" * 100_000 + ",0.5,0.5\n" + "y,0.5,0.5\n" * 1000)
    with pytest.raises(ValueError, match="1,001 texts of up to 100,000 characters; such files are refused"):
        lw.load_predictions(tmp_path / "p.csv")


def test_results_as_a_table(tmp_path, optional) -> None:
    pandas = optional("pandas")
    np.savez(tmp_path / "p.npz", probs=PROBS, ids=np.array(["=1+1", *IDS[1:]]), class_names=NAMES)
    done = lw.quantify(tmp_path / "p.npz", tmp_path / "u.csv", losses=["log", "squared"])
    assert done.instances == 6
    table = pandas.read_csv(tmp_path / "u.csv")
    u = lw.decompose(lw.Ensemble(PROBS, class_names=NAMES), "squared")
    np.testing.assert_allclose(table["squared_epistemic.dog"], u["dog"].epistemic)
    np.testing.assert_allclose(table["log_sum_total"], lw.decompose(lw.Ensemble(PROBS)).sum().total)
    assert table["ids"].tolist() == ["'=1+1", *IDS[1:]]
    np.savez(tmp_path / "z.npz", probs=3 * np.log(PROBS))
    logits = lw.quantify([tmp_path / "z.npz"], tmp_path / "v.npz", logits=True)
    assert logits.means["log"]["total"] < done.means["log"]["total"]
