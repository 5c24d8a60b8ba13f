"""Predictions as people have them: tables of every program, with labels that occur together, from
evidential networks.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import labelwise as lw
from small_tables import IDS, NAMES, PROBS, RNG, Y, check, frame

TABLES = {
    "comma.csv": lambda df, path: df.to_csv(path, index=False),
    "with index.csv": lambda df, path: df.to_csv(path),
    "german excel.csv": lambda df, path: df.to_csv(
        path, index=False, sep=";", decimal=",", encoding="utf-8-sig"
    ),
    "tabs.tsv": lambda df, path: df.to_csv(path, index=False, sep="\t"),
    "rows.jsonl": lambda df, path: df.to_json(
        path, orient="records", lines=True, double_precision=15
    ),
    "flat.parquet": lambda df, path: df.to_parquet(path),
    "index.parquet": lambda df, path: df.set_index("id").to_parquet(path),
    "categories.parquet": lambda df, path: df.astype({"label": "category"}).to_parquet(path),
    "lz4.feather": lambda df, path: df.to_feather(path),
    "zstd.feather": lambda df, path: df.to_feather(path, compression="zstd"),
    "categories.feather": lambda df, path: df.astype({"label": "category"}).to_feather(
        path, compression="uncompressed"
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_pandas(name: str, tmp_path, optional) -> None:
    optional("pyarrow")
    TABLES[name](frame(optional), tmp_path / name)
    check(lw.load_predictions(tmp_path / name))


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "zstd.arrow"])
def test_tables_of_polars(name: str, tmp_path, optional) -> None:
    optional("pyarrow")
    polars = optional("polars")
    table = polars.DataFrame(
        {name: PROBS[0, :, k] for k, name in enumerate(NAMES)}
        | {"id": IDS, "label": [NAMES[k] for k in Y]}
    )
    if name.endswith("parquet"):
        table.write_parquet(tmp_path / name)
    else:
        table.write_ipc(
            tmp_path / name, compression="zstd" if name.startswith("zstd") else "uncompressed"
        )
    check(lw.load_predictions(tmp_path / name))


def test_multilabel_and_its_logits(tmp_path) -> None:
    probs, y = RNG.random((2, 6, 3)), RNG.integers(0, 2, (6, 3))
    np.savez(tmp_path / "p.npz", probs=np.log(probs / (1 - probs)), y_true=y.astype(float))
    q = lw.load_predictions(tmp_path / "p.npz", logits=True, multilabel=True).distribution()
    assert isinstance(q, lw.MultiLabelEnsemble)
    np.testing.assert_allclose(q.probs, probs)


def test_evidential_ensembles(tmp_path) -> None:
    evidence = RNG.gamma(2.0, size=(2, 6, 3))
    np.savez(tmp_path / "p.npz", evidence=evidence)
    q = lw.load_predictions(tmp_path / "p.npz").distribution()
    assert isinstance(q, lw.DirichletMixture)
    np.testing.assert_array_equal(q.alpha, evidence + 1)


def test_values_that_are_no_numbers_do_not_warn(tmp_path) -> None:
    """Infinities of both signs, signaling NaNs and sums that overflow: what uses them says so, with
    their rows.
    """
    probs = np.full((1, 4, 2), 1e308)
    probs[0, 1] = np.inf, -np.inf
    probs[0, 2] = np.frombuffer(b"\x01\0\0\0\0\0\xf0\x7f")
    np.save(tmp_path / "p.npy", probs)
    p = lw.load_predictions(tmp_path / "p.npy")
    with pytest.raises(ValueError, match="`probs`"):
        p.distribution()


def test_one_column_is_the_second_of_two_classes(tmp_path) -> None:
    for i, value in enumerate((0.5, 0.75)):
        (tmp_path / f"m{i}.csv").write_text(f"id,ill\n1,{value}\n")
    with pytest.warns(UserWarning, match=r"the second of two classes \('not ill', 'ill'\)"):
        p = lw.load_predictions(tmp_path)
    assert p.class_names == ("not ill", "ill")
    assert p.distribution().probs.tolist() == [[[0.5, 0.5]], [[0.25, 0.75]]]


@pytest.mark.parametrize(("shape", "logits"), [((2, 3, 1), False), ((2, 3, 1), True)])
def test_one_number_for_each_case_is_the_second_of_two_classes(shape, logits, tmp_path) -> None:
    p = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, 0.7]])
    values = np.log(p / (1 - p)) if logits else p
    np.save(tmp_path / "p.npy", values.reshape(shape))
    with pytest.warns(UserWarning, match="the second of two classes"):
        stored = lw.load_predictions(tmp_path / "p.npy", logits=logits, labels=[0, 1, 1])
    np.testing.assert_allclose(
        stored.distribution().probs, np.stack([1 - p, p], axis=-1), atol=1e-12
    )


def test_votes_in_the_file_are_known(tmp_path) -> None:
    votes = RNG.integers(0, 5, (6, 3))
    for name in ("probs", "predictions"):
        np.savez(
            tmp_path / "p.npz", **{name: PROBS}, votes=votes, annotators=np.array(["a", "b", "c"])
        )
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert lw.load_predictions(tmp_path / "p.npz").shape == PROBS.shape
        assert not [
            one for one in said if "votes" in str(one.message) or "annotators" in str(one.message)
        ]
