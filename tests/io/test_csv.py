"""Tables as spreadsheets and programs write them, and cells that cannot become formulas."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from small_tables import IDS, NAMES, PROBS


def test_one_long_id_does_not_take_the_memory_of_all(tmp_path) -> None:
    (tmp_path / "p.csv").write_text(
        "id,a,b\n" + "x" * 100_000 + ",0.5,0.5\n" + "y,0.5,0.5\n" * 1000
    )
    with pytest.raises(
        ValueError, match="1,001 texts of up to 100,000 characters; such files are refused"
    ):
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
    assert table["id"].tolist() == ["'=1+1", *IDS[1:]]
    np.savez(tmp_path / "z.npz", probs=3 * np.log(PROBS))
    logits = lw.quantify([tmp_path / "z.npz"], tmp_path / "v.npz", logits=True)
    assert logits.means["log"]["total"] < done.means["log"]["total"]


@pytest.mark.parametrize(
    "text",
    [
        'id,cat,dog\n"a,.5,.5\nb,.2,.8\nc,.1,.9\n',  # never closed
        'id,cat,dog\n"a,.5,.5\nb",.2,.8\nc,.1,.9\n',  # closed in the next row
        'id,cat,dog\n"a,.5,.5\nb,.2,.8\nc"x,.1,.9\n',
        'id,cat,dog,remark\na,.5,.5,"fine\nb,.2,.8,good"\nc,.1,.9,x\n',
    ],
)
def test_an_open_quote_does_not_swallow_rows(text: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(ValueError, match=r"p\.csv.*(quote|unexpected end of data|expected after)"):
        lw.load_predictions(tmp_path / "p.csv")


def test_a_text_of_several_lines_is_a_cell(tmp_path) -> None:
    (tmp_path / "p.csv").write_text(
        'id,cat,dog,remark\na,.5,.5,"fine,\nthough 3 of us, at '
        'least,\ndisagree"\nb,.2,.8,"fine,\nthough"\n'
    )
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.shape == (1, 2, 2)
    assert "not read: 'remark'" in p.notes


@pytest.mark.parametrize("header", ["0,1", "0,1,2", "3,5,7"])
def test_whole_numbers_that_differ_name_the_classes(header: str, tmp_path) -> None:
    k = header.count(",") + 1
    row = ",".join(["0.5", "0.5", "0.0"][:k])
    (tmp_path / "p.csv").write_text(f"{header}\n{row}\n{row}\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.shape == (1, 2, k)
    assert (p.class_names or ("0", "1", "2")[:k]) == tuple(header.split(","))


@pytest.mark.parametrize(
    "rows",
    [
        "0,1\n1,0\n0,1\n",
        "0,1\n1,0\n0.25,0.75\n",
        "12,3,5\n1,19,0\n",
        "0.5,0.5\n0.2,0.8\n",
        "0.0,1.0\n0.2,0.8\n",
    ],
)
def test_a_first_row_that_may_be_either_is_refused(rows: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(rows)
    with pytest.raises(ValueError, match="the first row must name the columns; it holds numbers"):
        lw.load_predictions(tmp_path / "p.csv")


def test_a_table_with_ids_needs_a_header(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("a,0.5,0.5\nb,0.25,0.75\n")
    with pytest.raises(
        ValueError,
        match=r"the first row must name the columns; it holds numbers: 'a', '0\.5', '0\.5'",
    ):
        lw.load_predictions(tmp_path / "p.csv")


@pytest.mark.parametrize("decimals", [2, 4, 6])
def test_rounded_probabilities_are_accepted_and_it_is_said(decimals: int, tmp_path) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(5), (2, 200))
    for i in range(2):
        lines = [",".join(f"{x:.{decimals}f}" for x in row) for row in probs[i]]
        (tmp_path / f"m{i}.csv").write_text("\n".join(["a,b,c,d,e", *lines]))
    off = abs(probs.round(decimals).sum(-1) - 1).max()
    p = lw.load_predictions(tmp_path)
    q = p.distribution()
    np.testing.assert_allclose(q.probs.sum(-1), 1, atol=1e-9)
    np.testing.assert_allclose(q.probs, probs, atol=3 * 10**-decimals)
    note = f"probabilities are rounded: rows sum to 1 ± {off:.2g}, and were divided by their sums"
    assert note in p.notes
    result = run("quantify", tmp_path, "-o", tmp_path / "u.npz")
    assert result.exit_code == 0, result.output
    assert "probabilities are rounded" in result.output


def test_sums_that_rounding_does_not_explain_are_refused(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("a,b,c\n0.33,0.33,0.33\n0.33,0.33,0.28\n")
    with pytest.raises(ValueError, match="must sum to 1"):
        lw.load_predictions(tmp_path / "p.csv").distribution()
    (tmp_path / "p.csv").write_text("a,b,c\n0.33,0.33,0.33\n0.33,0.33,0.34\n")
    np.testing.assert_allclose(
        lw.load_predictions(tmp_path / "p.csv").distribution().probs.sum(-1), 1
    )


@pytest.mark.parametrize(
    "text",
    [
        "id|cat|dog\na|0.5|0.5\nb|0.2|0.8\n",
        "id cat dog\na 0.5 0.5\nb 0.2 0.8\n",
        "id   cat  dog\na    0.5  0.5\nb    0.2  0.8\n",  # aligned
        "sep=;\nid;cat;dog\na;0,5;0,5\nb;0,2;0,8\n",
        "\ufeffSEP=|\r\nid|cat|dog\r\na|0.5|0.5\r\nb|0.2|0.8\r\n",
    ],
)
def test_separators(text: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(text, encoding="utf-8", newline="")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.class_names == ("cat", "dog")
    assert list(p.ids) == ["a", "b"]
    np.testing.assert_allclose(p.probs, [[[0.5, 0.5], [0.2, 0.8]]])


def test_blanks_in_names_do_not_separate(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("case id,big cat,dog\na,0.5,0.5\nb,0.2,0.8\n")
    assert lw.load_predictions(tmp_path / "p.csv").class_names == ("big cat", "dog")


def test_percentages_and_lines_before_the_header(tmp_path) -> None:
    """As spreadsheets write cells that are shown as percentages."""
    (tmp_path / "p.csv").write_text("\n  \nid;cat;dog\na;12,50 %;87,5%\nb;100%;0 %\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    np.testing.assert_array_equal(p.probs, [[[0.125, 0.875], [1, 0]]])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused(encoding: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,café,dog\na,0.5,0.5\n", encoding=encoding)
    with pytest.raises(
        ValueError, match=r"p\.csv: not a text file in UTF-8 \(.*\); save it as UTF-8"
    ):
        lw.load_predictions(tmp_path / "p.csv")
