"""Predictions as people have them: tables of every program, tensors, several files; and what is said where something is assumed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw

RNG = np.random.default_rng(0)
NAMES = ["cat", "dog", "eel"]
PROBS = RNG.dirichlet(np.ones(3), (2, 6))
Y = np.arange(6) % 3
IDS = [f"case {i}" for i in range(6)]


def frame(optional: Any, member: int = 0, names: list[str] = NAMES, rows: Any = slice(None)) -> Any:
    table = optional("pandas").DataFrame(PROBS[member], columns=NAMES)[names]
    return table.assign(id=IDS, label=[NAMES[k] for k in Y]).iloc[rows]


def check(p: lw.io.Predictions, members: Any = (0,), *, names: Any = NAMES, ids: Any = IDS, atol: float = 1e-9) -> None:
    values = PROBS[list(members)]
    assert p.shape == values.shape
    assert p.class_names == (None if names is None else tuple(names))
    assert p.true_class.tolist() == Y.tolist()
    assert (None if p.ids is None else np.asarray(p.ids[:]).tolist()) == ids
    np.testing.assert_allclose(p.distribution().mean(), values.mean(0), atol=atol)
    np.testing.assert_allclose(p[[4, 1]].distribution().mean(), values.mean(0)[[4, 1]], atol=atol)


TABLES = {
    "comma.csv": lambda df, path: df.to_csv(path, index=False),
    "with index.csv": lambda df, path: df.to_csv(path),
    "german excel.csv": lambda df, path: df.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig"),
    "tabs.tsv": lambda df, path: df.to_csv(path, index=False, sep="\t"),
    "rows.jsonl": lambda df, path: df.to_json(path, orient="records", lines=True, double_precision=15),
    "flat.parquet": lambda df, path: df.to_parquet(path),
    "index.parquet": lambda df, path: df.set_index("id").to_parquet(path),
    "categories.parquet": lambda df, path: df.astype({"label": "category"}).to_parquet(path),
    "lz4.feather": lambda df, path: df.to_feather(path),
    "zstd.feather": lambda df, path: df.to_feather(path, compression="zstd"),
    "categories.feather": lambda df, path: df.astype({"label": "category"}).to_feather(path, compression="uncompressed"),
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
    table = polars.DataFrame({name: PROBS[0, :, k] for k, name in enumerate(NAMES)} | {"id": IDS, "label": [NAMES[k] for k in Y]})
    if name.endswith("parquet"):
        table.write_parquet(tmp_path / name)
    else:
        table.write_ipc(tmp_path / name, compression="zstd" if name.startswith("zstd") else "uncompressed")
    check(lw.load_predictions(tmp_path / name))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
def test_a_long_table_has_a_column_for_the_model(suffix: str, tmp_path, optional) -> None:
    optional("pyarrow")
    rows = [frame(optional, 0).assign(model="b"), frame(optional, 1, rows=slice(None, None, -1)).assign(model="a")]
    table = optional("pandas").concat(rows, ignore_index=True)
    write = {".csv": "to_csv", ".parquet": "to_parquet", ".feather": "to_feather", ".jsonl": "to_json"}[suffix]
    options = {".csv": {"index": False}, ".jsonl": {"orient": "records", "lines": True, "double_precision": 15}}.get(suffix, {})
    getattr(table, write)(tmp_path / f"p{suffix}", **options)
    check(lw.load_predictions(tmp_path / f"p{suffix}"), (0, 1))
    getattr(table[:-1], write)(tmp_path / f"p{suffix}", **options)
    with pytest.raises(ValueError, match="member 'a' has 5 rows and 'b' has 6"):
        lw.load_predictions(tmp_path / f"p{suffix}")


def test_files_of_the_members_are_aligned_by_id_and_class(tmp_path, optional) -> None:
    frame(optional, 0).to_csv(tmp_path / "model2.csv", index=False)
    frame(optional, 1, ["eel", "cat", "dog"], slice(None, None, -1)).to_csv(tmp_path / "model10.csv", index=False)
    check(lw.load_predictions([tmp_path / "model2.csv", tmp_path / "model10.csv"]), (0, 1))
    check(lw.load_predictions(tmp_path), (0, 1))  # a folder, 2 before 10
    q = lw.load_predictions(tmp_path).distribution()
    np.testing.assert_array_equal(q.probs, PROBS)


def test_a_folder_of_arrays_with_its_labels_stays_on_disk(tmp_path) -> None:
    for i in range(2):
        np.save(tmp_path / f"m{i}.npy", np.repeat(PROBS[i], 200_000, axis=0))
    np.save(tmp_path / "labels.npy", np.repeat(Y, 200_000))
    p = lw.load_predictions(tmp_path)
    assert type(p.probs).__name__ == "Stacked"
    assert (p.shape, p.dtype) == ((2, 1_200_000, 3), np.float64)
    np.testing.assert_array_equal(p[199_999:200_001].probs, PROBS[:, [0, 1]])
    np.testing.assert_array_equal(p[[1_199_999, 3]].probs, PROBS[:, [5, 0]])
    assert p[[1_199_999, 3]].true_class.tolist() == [Y[5], Y[0]]


def test_tensors(tmp_path, optional) -> None:
    torch = optional("torch")
    torch.save(torch.tensor(PROBS), tmp_path / "tensor.pt")
    np.testing.assert_array_equal(lw.load_predictions(tmp_path / "tensor.pt").probs, PROBS)
    content = {"logits": torch.tensor(np.log(PROBS)), "y_true": torch.tensor(Y), "class_names": NAMES}
    torch.save(content, tmp_path / "dict.pt")
    check(lw.load_predictions(tmp_path / "dict.pt"), (0, 1), ids=None)
    torch.save(torch.tensor(PROBS, dtype=torch.bfloat16), tmp_path / "half.pt")
    assert lw.load_predictions(tmp_path / "half.pt").dtype == np.float32
    torch.save(torch.full((1, 1, 2), 0.5).expand(1000, 10**9, 2), tmp_path / "bomb.pt")
    with pytest.raises(ValueError, match="of which few are stored"):
        lw.load_predictions(tmp_path / "bomb.pt")


class Explosive:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_else_in_a_tensor_file_is_unpickled(tmp_path, optional) -> None:
    torch = optional("torch")
    torch.save({"probs": Explosive(tmp_path / "ran")}, tmp_path / "evil.pt")
    (tmp_path / "old.pt").write_bytes(pickle.dumps(Explosive(tmp_path / "ran")))
    for name in ("evil.pt", "old.pt"):
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            lw.load_predictions(tmp_path / name)
    assert not (tmp_path / "ran").exists()


def test_json_lines_of_a_service(tmp_path) -> None:
    def write(lines: list[dict[str, Any]]) -> Path:
        (tmp_path / "p.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
        return tmp_path / "p.jsonl"

    known = [{"id": IDS[i], "label": NAMES[Y[i]]} for i in range(6)]
    objects = [k | {"logits": dict(zip(NAMES, np.log(PROBS[0, i]).tolist(), strict=True))} for i, k in enumerate(known)]
    check(lw.load_predictions(write(objects)))
    members = [{"id": IDS[i], "label": int(Y[i]), "probs": PROBS[:, i].tolist()} for i in range(6)]
    check(lw.load_predictions(write(members)), (0, 1), names=None)
    for damage, words in (
        (members[2] | {"probs": [0.5, 0.5]}, "its lines must all hold the same number|one number for each class"),
        (members[2] | {"probs": "x"}, "line 3 does not hold what the first one does"),
        ({}, "line 3 does not hold what the first one does"),
    ):
        with pytest.raises(ValueError, match=words):
            lw.load_predictions(write([*members[:2], damage]))
    (tmp_path / "p.jsonl").write_text('{"probs": [0.5, 0.5]}\n{"probs": [0.5')
    with pytest.raises(ValueError, match=r"line 2 is not JSON .* cut short"):
        lw.load_predictions(tmp_path / "p.jsonl")


def test_prefixes_say_what_columns_are(tmp_path) -> None:
    rows = "\n".join(",".join(map(str, [i, 50 + i, *np.log(PROBS[0, i])])) for i in range(6))
    (tmp_path / "p.csv").write_text("id,age,logit_cat,logit_dog,logit_eel\n" + rows)
    with pytest.warns(UserWarning, match="column 'age' is not read"):
        p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, ids=list(range(6)))
    assert p.kind == "logits"


def test_a_table_without_a_header(tmp_path) -> None:
    np.savetxt(tmp_path / "p.csv", PROBS[0], delimiter=",")
    with pytest.warns(UserWarning, match="p.csv has no header; its 3 columns are taken for the classes 0 … 2"):
        p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, names=None, ids=None)


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.txt", "y.csv", "column.csv"])
def test_labels_from_a_file(name: str, tmp_path) -> None:
    order = [3, 0, 5, 1, 2, 4]
    texts = {
        "y.txt": "\n".join(NAMES[k] for k in Y),
        "y.csv": "id,y_true\n" + "\n".join(f"{IDS[i]},{NAMES[Y[i]]}" for i in order),
        "column.csv": "truth\n" + "\n".join(NAMES[k] for k in Y),
    }
    if name in texts:
        (tmp_path / name).write_text(texts[name])
    elif name == "y.npy":
        np.save(tmp_path / name, Y)
    else:
        np.savez(tmp_path / name, ids=np.array(IDS)[order], y_true=Y[order])
    np.savez(tmp_path / "p.npz", probs=PROBS, ids=np.array(IDS), class_names=NAMES)
    check(lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / name), (0, 1))


def test_axes_of_columns_on_disk(tmp_path, optional) -> None:
    group = optional("zarr").open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=3)
    group.create_array("probs", data=PROBS.transpose(1, 2, 0).copy(), chunks=(2, 3, 1))
    p = lw.load_predictions(tmp_path / "p.zarr", member_axis=2, class_axis=1, labels=Y, class_names=NAMES)
    check(p, (0, 1), ids=None)
    np.testing.assert_array_equal(p[2:4].probs, PROBS[:, 2:4])
    with pytest.warns(UserWarning, match="summed to between 1 and 1"):
        again = lw.load_predictions(tmp_path / "p.zarr", member_axis=2, class_axis=1, normalize=True)
    np.testing.assert_allclose(again[2:4].probs, PROBS[:, 2:4])
    with pytest.raises(ValueError, match="`class_axis` must be one of the 3 axes"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=3)
    with pytest.raises(ValueError, match="must be different; both are 1"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=1, member_axis=1)


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


def test_folders_that_are_not_one_ensemble(tmp_path) -> None:
    with pytest.raises(ValueError, match="holds no prediction files"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "a.npy", PROBS[0])
    (tmp_path / "b.csv").write_text("a,b\n0.5,0.5\n")
    with pytest.raises(ValueError, match=r"files of several formats \(\.csv, \.npy\)"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "c.npy", PROBS[0, 0])
    with pytest.raises(ValueError, match=r"c\.npy: `probs` must have the axes \(instances, classes\); got shape \(3,\)"):
        lw.load_predictions([tmp_path / "a.npy", tmp_path / "c.npy"])
    with pytest.raises(ValueError, match="name at least one"):
        lw.load_predictions([])


def test_sizes_in_arrow_files_are_not_believed(tmp_path, optional) -> None:
    """A compressed buffer says how long its content is; a wrong one must not take the memory."""
    pa = optional("pyarrow")
    table = pa.table({"a": np.full(1000, 0.5), "b": np.full(1000, 0.5)})
    path = tmp_path / "p.arrow"
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
    ):
        writer.write_table(table)
    content = path.read_bytes()
    assert content.count((8000).to_bytes(8, "little")) >= 2
    path.write_bytes(content.replace((8000).to_bytes(8, "little"), (1 << 40).to_bytes(8, "little")))
    with pytest.raises(ValueError, match=r"p\.arrow would unpack from [0-9,]+ to 2,199,0"):
        lw.load_predictions(path)
    path.write_bytes(content[:-40])
    with pytest.raises(ValueError, match=r"p\.arrow"):
        lw.load_predictions(path)


def test_one_column_is_the_second_of_two_classes(tmp_path) -> None:
    for i, value in enumerate((0.5, 0.75)):
        (tmp_path / f"m{i}.csv").write_text(f"id,ill\n1,{value}\n")
    with pytest.warns(UserWarning, match=r"the second of two classes \('not ill', 'ill'\)"):
        p = lw.load_predictions(tmp_path)
    assert p.class_names == ("not ill", "ill")
    assert p.distribution().probs.tolist() == [[[0.5, 0.5]], [[0.25, 0.75]]]


@pytest.mark.parametrize(("shape", "logits"), [((2, 3), False), ((2, 3, 1), False), ((2, 3, 1), True)])
def test_one_number_for_each_case_is_the_second_of_two_classes(shape, logits, tmp_path) -> None:
    p = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, 0.7]])
    values = np.log(p / (1 - p)) if logits else p
    np.save(tmp_path / "p.npy", values.reshape(shape))
    with pytest.warns(UserWarning, match="the second of two classes"):
        stored = lw.load_predictions(tmp_path / "p.npy", logits=logits, labels=[0, 1, 1])
    np.testing.assert_allclose(stored.distribution().probs, np.stack([1 - p, p], axis=-1), atol=1e-12)


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
    logits = lw.quantify([tmp_path / "p.npz"], tmp_path / "v.npz", logits=True)
    assert logits.means["log"]["total"] != done.means["log"]["total"]
