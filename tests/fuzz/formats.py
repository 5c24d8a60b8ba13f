"""What is damaged, and how it is read: valid samples of every format, made by the library and by
others.
"""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .mutations import Tree

FOLDER = b"/@FOLDER@"
"""Stands in a sample for the folder that it is put into."""
NAMES = ["lung", "lymphoma", "melanoma"]
COSTS = b"""class_names = ["lung", "lymphoma", "melanoma"]
matrix = [[0, 1, 2.5], [4, 0, 1], [20, 3, 0]]
abstain = 0.8
ask = 0.5
expert_error = 0.02
"""
COSTS_WITH_DEFAULT = b"default = 1\nask = 2\n[missed]\nmelanoma = 20\n[false_alarm]\nlung = 0.5\n"
COSTS_BY_NAME = b"""expert_error = 0.1
[false_positive]
lung = 1
lymphoma = 2
melanoma = 3.5
[false_negative]
lung = 10
lymphoma = 2e1
"melanoma" = 30
"""
EVENTS = b'chest = ["lung", "lymphoma"]\nskin = ["melanoma"]\n'


@dataclass(frozen=True)
class Format:
    """One kind of file (or folder of files)."""

    make: Callable[[Path], None]
    """Writes a valid sample into an empty folder."""
    read: Callable[[Path], object]
    """Reads the sample in a folder."""
    damage: str = ""
    """How the names of the files begin that are damaged; the others stay as they are."""


def place(tree: Tree, folder: Path) -> None:
    """Write a sample into a new folder."""
    for name, data in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.replace(FOLDER, str(folder).encode()) if FOLDER in data else data)


def collect(folder: Path) -> Tree:
    """The files of a folder as a sample."""
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), FOLDER)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sample(kind: Format) -> Tree:
    """A valid sample."""
    with tempfile.TemporaryDirectory() as folder:
        kind.make(Path(folder))
        return collect(Path(folder))


# ----------------------------------------------------------------------------------------------------------------  # noqa: E501
# predictions


def arrays(n: int = 12) -> dict[str, np.ndarray]:
    """Five members, twelve instances, three classes."""
    rng = np.random.default_rng(0)
    return {
        "probs": rng.dirichlet(np.ones(3), (5, n)),
        "y_true": rng.integers(0, 3, n),
        "class_names": np.array(NAMES),
        "ids": np.array([f"case {i}" for i in range(n)]),
        "weights": np.array([1.0, 2, 1, 1, 3]),
        "images": rng.integers(0, 256, (n, 4, 4), dtype=np.uint8),
    }


def _npz(save: Callable[..., None], **changed: Any) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        content = arrays() | changed
        save(folder / "preds.npz", **{key: x for key, x in content.items() if x is not None})

    return make


def _own_npz(folder: Path) -> None:
    from labelwise.io import save_predictions

    save_predictions(folder / "preds.npz", **arrays())


def _npy(folder: Path) -> None:
    np.save(folder / "preds.npy", arrays()["probs"].astype(np.float32))


def _zarr2(codec: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import numcodecs
        import zarr

        compressor = {
            "blosc": numcodecs.Blosc("lz4"),
            "zlib": numcodecs.Zlib(),
            "bz2": numcodecs.BZ2(),
            "lzma": numcodecs.LZMA(),
            "zstd": numcodecs.Zstd(),
            "lz4": numcodecs.LZ4(),
            "none": None,
        }[codec]
        group = zarr.open_group(str(folder / "preds.zarr"), mode="w", zarr_format=2)
        content = arrays()
        for name in ("probs", "y_true", "weights"):
            array = content[name]
            chunks = (5, 4, 3) if name == "probs" else array.shape
            group.create_array(
                name, shape=array.shape, dtype=array.dtype, chunks=chunks, compressors=compressor
            )[...] = array
        group.create_array("ids", data=content["ids"])
        group.attrs["class_names"] = NAMES

    return make


def _zarr3(codec: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import zarr
        from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

        group = zarr.open_group(str(folder / "preds.zarr"), mode="w", zarr_format=3)
        content = arrays()
        options: dict[str, Any] = {
            "blosc": {"compressors": BloscCodec()},
            "gzip": {"compressors": GzipCodec()},
            "zstd": {"compressors": [ZstdCodec(), Crc32cCodec()]},
            "none": {"compressors": None},
            "transpose": {"filters": TransposeCodec(order=(2, 0, 1)), "compressors": None},
            "shards": {"shards": (5, 12, 3), "compressors": GzipCodec()},
        }[codec]
        group.create_array("probs", shape=(5, 12, 3), dtype="f8", chunks=(5, 4, 3), **options)[
            ...
        ] = content["probs"]
        group.create_array("y_true", data=content["y_true"])
        group.attrs["class_names"] = NAMES

    return make


def _parquet(compression: str, fixed: bool) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = arrays()
        kind = pa.list_(pa.float64(), 15) if fixed else pa.list_(pa.float64())
        rows = content["probs"].transpose(1, 0, 2).reshape(12, -1).tolist()
        table = pa.table(
            {
                "probs": pa.array(rows, kind),
                "y_true": content["y_true"],
                "ids": content["ids"].tolist(),
            }
        )
        table = table.replace_schema_metadata({"members": "5", "class_names": "\n".join(NAMES)})
        pq.write_table(table, folder / "preds.parquet", compression=compression, row_group_size=5)

    return make


def _table(name: str, **options: Any) -> Callable[[Path], None]:
    """A flat table as pandas writes it: ids, labels by name, two models below each other."""

    def make(folder: Path) -> None:
        import pandas as pd

        content = arrays()
        parts = []
        for k, member in enumerate(content["probs"][:2]):
            part = pd.DataFrame(member, columns=NAMES)
            parts.append(
                part.assign(
                    id=content["ids"],
                    label=[NAMES[y] for y in content["y_true"]],
                    model=f"model {k}",
                )
            )
        table = pd.concat(parts, ignore_index=True)
        suffix = name.rpartition(".")[2]
        write = {
            "csv": "to_csv",
            "tsv": "to_csv",
            "jsonl": "to_json",
            "parquet": "to_parquet",
            "feather": "to_feather",
        }[suffix]
        getattr(table, write)(folder / name, **options)

    return make


def _pt(folder: Path) -> None:
    import torch

    content = arrays()
    torch.save(
        {
            "probs": torch.tensor(content["probs"]),
            "y_true": torch.tensor(content["y_true"]),
            "class_names": NAMES,
        },
        folder / "preds.pt",
    )


def _json_members(folder: Path) -> None:
    content = arrays()
    lines = [
        {"id": str(content["ids"][i]), "probs": content["probs"][:, i].tolist(), "y_true": int(y)}
        for i, y in enumerate(content["y_true"])
    ]
    (folder / "preds.jsonl").write_text("\n".join(map(json.dumps, lines)))


def _files(suffix: str) -> Callable[[Path], None]:
    """A folder with a file for each member, and one with the labels."""

    def make(folder: Path) -> None:
        content = arrays()
        (folder / "preds.d").mkdir()
        for k, member in enumerate(content["probs"][:3]):
            rows = "\n".join(
                ",".join(map(str, [content["ids"][i], *row])) for i, row in enumerate(member)
            )
            if suffix == "csv":
                (folder / "preds.d" / f"model{k}.csv").write_text(f"id,{','.join(NAMES)}\n{rows}\n")
            else:
                np.save(folder / "preds.d" / f"model{k}.npy", member)
        np.save(folder / "preds.d" / "labels.npy", content["y_true"])

    return make


def _one(folder: Path, pattern: str = "preds.*") -> Path:
    return next(iter(sorted(folder.glob(pattern))), folder / pattern.replace("*", "missing"))


def read_predictions(folder: Path) -> None:
    """As `labelwise quantify` reads them: a block, its distribution, the ids."""
    import labelwise as lw
    from labelwise.io import load_predictions

    source = load_predictions(_one(folder))
    lw.decompose(source.read(0, 1000).distribution())
    if source.ids is not None:
        np.asarray(source.ids[:])


# -------------------------------------------------------------------------------------------------------------------  # noqa: E501
# data sets


def _file(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None


def _images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (4, 28, 28), dtype=np.uint8)


def _idx() -> bytes:
    return bytes([0, 0, 8, 3]) + struct.pack(">3I", 4, 28, 28) + _images().tobytes()


def _arff() -> bytes:
    rows = "".join(f"{i / 3},{'x' if i % 2 else repr('y z')},{i % 2}\n" for i in range(10))
    return (
        (
            "@relation r\n@attribute a real\n@attribute 'b c' {x,'y z',w}\n@attribute class "
            "{0,1}\n@data\n"
        )
        + rows
    ).encode()


def _csv() -> bytes:
    return (
        "a,b,class\n"
        + "".join(f"{i / 3},{'red' if i % 2 else 'blue'},{i % 2}\n" for i in range(10))
    ).encode()


def _cifar_pickle() -> bytes:
    return (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x06K\x09eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06"
        b"K\x00\x85U\x01b\x87R(K\x01K\x02M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89T" + struct.pack("<i", 2 * 3072) + np.random.default_rng(0).bytes(2 * 3072) + b"tbu."
    )


def _mat(compressed: bool) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        from scipy.io import savemat

        savemat(folder / "x.mat", {"X": _images(), "y": np.arange(4)}, do_compression=compressed)

    return make


def _medmnist(folder: Path) -> None:
    content = {"images": _images(), "labels": np.zeros((4, 1), np.uint8)}
    np.savez_compressed(
        folder / "pathmnist.npz",
        **{f"{part}_{kind}": x for part in ("train", "val", "test") for kind, x in content.items()},
    )


def _image_folder(kind: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        from PIL import Image

        for i, label in enumerate("ab"):
            (folder / "images" / label).mkdir(parents=True)
            Image.fromarray(_images()[i]).save(folder / "images" / label / f"1.{kind}")

    return make


def _dataset(function: str, name: str, *more: Any) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        import labelwise_lab.datasets as ds

        return getattr(ds, function)(folder / name, *more)

    return read


# -------------------------------------------------------------------------------------------------------  # noqa: E501
# costs, events, states


def read_costs(folder: Path) -> None:
    """The costs, used for every task that they are for."""
    from labelwise.decisions import Costs

    costs = Costs.from_toml(folder / "costs.toml")
    costs.to_toml()
    for task in ("multiclass", "per_label"):
        with suppress(ValueError):
            costs.problem(task, 3, tuple(NAMES))


def read_events(folder: Path) -> None:
    """Groups of classes, resolved."""
    from labelwise.cli._input import read_events
    from labelwise.events import as_events

    family = as_events(read_events(folder / "events.toml"))
    if family is not None:
        family.resolve(3, tuple(NAMES))


def _accumulator(folder: Path) -> None:
    import labelwise as lw

    acc = lw.Accumulator("log", class_names=NAMES)
    for p in arrays()["probs"]:
        acc.update(p)
    acc.save(folder / "acc.npz")


def read_accumulator(folder: Path) -> None:
    """A saved state, resumed and merged."""
    import labelwise as lw

    acc = lw.Accumulator.load(folder / "acc.npz", "log", class_names=NAMES)
    acc.result()
    acc.update(np.broadcast_to(1 / 3, acc.result().total.shape))
    acc.result()


class _Interrupted(Exception):
    pass


def _partial(folder: Path) -> None:
    from labelwise.io import save_predictions
    from labelwise.io.quantify import quantify

    def interrupt(done: int, total: int) -> None:
        raise _Interrupted

    probs = np.random.default_rng(0).dirichlet(np.ones(3), (5, 3000)).astype(np.float32)
    save_predictions(folder / "preds.npz", probs=probs)
    _fixed_time(folder)
    with suppress(_Interrupted):
        quantify(folder / "preds.npz", folder / "u.npz", memory="1MB", progress=interrupt)
    if not any((folder / "u.npz.partial").iterdir()):
        raise AssertionError("an interrupted `quantify` has left nothing to resume")


def _fixed_time(folder: Path) -> None:
    import os

    os.utime(folder / "preds.npz", (10**9, 10**9))  # a part of what a state is compared with


def resume(folder: Path) -> None:
    """`quantify` finds a damaged state and resumes, or starts over; either way it finishes."""
    from labelwise.io.quantify import quantify

    _fixed_time(folder)
    quantify(folder / "preds.npz", folder / "u.npz", memory="1MB")


# --------------------------------------------------------------------------------------------------------------------  # noqa: E501
# networks


def _ensemble(folder: Path) -> None:
    from labelwise_lab.training import fit_ensemble

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(32, 4)).astype(np.float32), np.arange(32) % 3
    fit_ensemble(
        "mlp",
        (x, y),
        n_members=1,
        epochs=1,
        rng=0,
        out_dir=folder / "trained",
        n_jobs=1,
        progress=False,
    )
    for path in (folder / "trained").rglob("*"):
        if path.name.startswith(".") and path.is_file():
            path.unlink()


def read_ensemble(folder: Path) -> None:
    """Settings, metrics, and the weights in the network."""
    from labelwise_lab.training import load_ensemble

    fitted = load_ensemble(folder / "trained")
    fitted.metrics  # noqa: B018
    fitted.model(0)


# ---------------------------------------------------------------------------------------------------------------------  # noqa: E501
# medical


def _nifti(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import nibabel as nib

        values = np.random.default_rng(0).normal(0, 100, (6, 5, 7)).astype(np.int16)
        nib.Nifti1Image(values, np.diag([2.0, 2, 3, 1])).to_filename(folder / name)

    return make


def read_volume(folder: Path) -> None:
    """A volume on its own grid."""
    from labelwise_lab.petct.volumes import read_volume

    read_volume(_one(folder, "v.nii*"))


def _studies(folder: Path) -> None:
    from labelwise_lab.petct import write_phantoms

    write_phantoms(folder / "studies", patients=2, voxel=30, rng=1)


def read_studies(folder: Path) -> None:
    """Two patients, found and cut into slices; a study that cannot be used is skipped."""
    from labelwise_lab.petct import Settings
    from labelwise_lab.petct.preparation import prepare_study
    from labelwise_lab.petct.studies import find_studies

    (folder / "out").mkdir(parents=True)
    for study in find_studies(
        folder / "studies",
        diagnoses=("negative", "lung cancer", "lymphoma", "melanoma", "bone metastases"),
    )[0]:
        prepare_study(study, settings=Settings(size=16, step=0), folder=folder / "out")


def _slices(folder: Path) -> None:
    from labelwise_lab.petct import Settings, prepare, write_phantoms

    with tempfile.TemporaryDirectory() as studies:
        write_phantoms(Path(studies) / "s", patients=8, voxel=40, rng=1)
        held = ["bone metastases", "melanoma", "lymphoma"]
        prepare(
            Path(studies) / "s",
            folder / "slices",
            settings=Settings(size=8, step=0),
            hold_back=held,
            test_size=0.5,
            val_size=0.0,
            n_jobs=1,
        )


def read_slices(folder: Path) -> None:
    """The manifest, and every slice of every part."""
    from labelwise_lab.petct.manifest import open_prepared

    prepared = open_prepared(folder / "slices")
    prepared.statistics  # noqa: B018
    for name in ("train", "val", "test", "held back"):
        part = prepared.part(name)
        part[:]
        for i in range(min(len(part), 3)):
            part.lesions(i)


# ---------------------------------------------------------------------------------------------------------------------  # noqa: E501
# command


def _with(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def all_of_it(folder: Path) -> None:
        make(folder)
        (folder / "costs.toml").write_bytes(COSTS)
        (folder / "events.toml").write_bytes(EVENTS)

    return all_of_it


def command(*words: str) -> Callable[[Path], None]:
    """Run ``labelwise``; it must succeed (0) or say in one sentence what is wrong (2)."""

    def run(folder: Path) -> None:
        from click.testing import CliRunner

        from labelwise.cli import main

        places = {"PREDS": str(_one(folder)), "OUT": str(folder)}
        args = [
            word.replace("PREDS", places["PREDS"]).replace("OUT", places["OUT"]) for word in words
        ]
        result = CliRunner().invoke(main, args)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError(f"a traceback: {result.exception!r}") from result.exception
        if result.exit_code not in (0, 2) or "Traceback" in result.output:
            raise AssertionError(f"exit code {result.exit_code}: {result.output[:300]}")
        if result.exit_code == 2:
            *said_before, said = result.stderr.strip().split("\n")
            if any(not line.startswith(("Note: ", "preds.", "  ")) for line in said_before):
                raise AssertionError(f"not notes: {said_before[0][:300]!r}")
            if not said.startswith("Error: ") or "\n" in said:
                raise AssertionError(f"not one sentence: {said[:300]!r}")
            if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in said):
                raise AssertionError(f"control characters: {said[:300]!r}")

    return run


FORMATS: dict[str, Format] = {
    "npy": Format(_npy, read_predictions),
    "npz stored": Format(_own_npz, read_predictions),
    "npz deflated": Format(_npz(np.savez_compressed, ids=None, images=None), read_predictions),
    "npz alpha": Format(
        _npz(np.savez, probs=None, weights=None, alpha=1 + arrays()["probs"][0]), read_predictions
    ),
    "zarr 2 blosc": Format(_zarr2("blosc"), read_predictions),
    "zarr 2 zlib": Format(_zarr2("zlib"), read_predictions),
    "zarr 2 bz2": Format(_zarr2("bz2"), read_predictions),
    "zarr 2 lzma": Format(_zarr2("lzma"), read_predictions),
    "zarr 2 zstd": Format(_zarr2("zstd"), read_predictions),
    "zarr 2 lz4": Format(_zarr2("lz4"), read_predictions),
    "zarr 3 blosc": Format(_zarr3("blosc"), read_predictions),
    "zarr 3 gzip": Format(_zarr3("gzip"), read_predictions),
    "zarr 3 zstd": Format(_zarr3("zstd"), read_predictions),
    "zarr 3 none": Format(_zarr3("none"), read_predictions),
    "zarr 3 transpose": Format(_zarr3("transpose"), read_predictions),
    "zarr 3 shards": Format(_zarr3("shards"), read_predictions),
    "parquet plain": Format(_parquet("none", True), read_predictions),
    "parquet snappy": Format(_parquet("snappy", False), read_predictions),
    "parquet zstd": Format(_parquet("zstd", True), read_predictions),
    "parquet flat": Format(_table("preds.parquet", compression="snappy"), read_predictions),
    "parquet flat zstd": Format(_table("preds.parquet", compression="zstd"), read_predictions),
    "feather lz4": Format(_table("preds.feather"), read_predictions),
    "feather zstd": Format(_table("preds.feather", compression="zstd"), read_predictions),
    "feather plain": Format(_table("preds.feather", compression="uncompressed"), read_predictions),
    "csv": Format(_table("preds.csv", index=False), read_predictions),
    "csv semicolon": Format(
        _table("preds.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig"),
        read_predictions,
    ),
    "tsv": Format(_table("preds.tsv", sep="\t"), read_predictions),
    "json lines": Format(
        _table("preds.jsonl", orient="records", lines=True, double_precision=15), read_predictions
    ),
    "json lines of members": Format(_json_members, read_predictions),
    "tensors": Format(_pt, read_predictions),
    "folder csv": Format(_files("csv"), read_predictions),
    "folder npy": Format(_files("npy"), read_predictions),
    "arff": Format(_file("x.arff", _arff()), _dataset("load_table", "x.arff")),
    "csv table": Format(_file("x.csv", _csv()), _dataset("load_table", "x.csv")),
    "mat": Format(_mat(False), _dataset("read_mat", "x.mat", ["X", "y"])),
    "mat compressed": Format(_mat(True), _dataset("read_mat", "x.mat", ["X", "y"])),
    "idx": Format(_file("x-idx3-ubyte", _idx()), _dataset("read_idx", "x-idx3-ubyte")),
    "idx.gz": Format(
        _file("x-idx3-ubyte.gz", gzip.compress(_idx())), _dataset("read_idx", "x-idx3-ubyte.gz")
    ),
    "cifar binary": Format(
        _file("batch.bin", np.random.default_rng(0).integers(0, 10, 3 * 3073, np.uint8).tobytes()),
        _dataset("read_cifar10_binary", "batch.bin"),
    ),
    "cifar python": Format(
        _file("batch", _cifar_pickle()), _dataset("read_cifar10_python", "batch")
    ),
    "medmnist": Format(_medmnist, _dataset("load_medmnist", "pathmnist.npz")),
    "images png": Format(_image_folder("png"), _dataset("load_image_folder", "images")),
    "images jpg": Format(_image_folder("jpg"), _dataset("load_image_folder", "images")),
    "costs": Format(_file("costs.toml", COSTS), read_costs),
    "costs by name": Format(_file("costs.toml", COSTS_BY_NAME), read_costs),
    "costs with default": Format(_file("costs.toml", COSTS_WITH_DEFAULT), read_costs),
    "events": Format(_file("events.toml", EVENTS), read_events),
    "accumulator": Format(_accumulator, read_accumulator),
    "quantify state": Format(_partial, resume, "u.npz.partial/"),
    "torch settings": Format(_ensemble, read_ensemble, "trained/ensemble.json"),
    "torch checkpoint": Format(_ensemble, read_ensemble, "trained/member"),
    "nifti": Format(_nifti("v.nii"), read_volume),
    "nifti gz": Format(_nifti("v.nii.gz"), read_volume),
    "petct studies": Format(_studies, read_studies),
    "petct manifest": Format(_slices, read_slices, "slices/manifest.json"),
    "petct slices": Format(_slices, read_slices, "slices/slices/"),
    "command quantify npz": Format(_own_npz, command("quantify", "PREDS", "-o", "OUT/u.npz")),
    "command quantify zarr": Format(
        _zarr3("gzip"), command("quantify", "PREDS", "-o", "OUT/u.parquet")
    ),
    "command quantify parquet": Format(
        _parquet("snappy", True), command("quantify", "PREDS", "-o", "OUT/u.zarr")
    ),
    "command quantify csv": Format(
        _table("preds.csv", index=False), command("quantify", "PREDS", "-o", "OUT/u.csv")
    ),
    "command evaluate folder": Format(_files("csv"), command("evaluate", "PREDS", "--normalize")),
    "command evaluate": Format(_own_npz, command("evaluate", "PREDS", "--ood", "PREDS")),
    "command acquire": Format(
        _with(_own_npz), command("acquire", "PREDS", "--budget", "1", "-o", "OUT/next.csv")
    ),
    "command decide": Format(
        _with(_own_npz),
        command("decide", "PREDS", "--costs", "OUT/costs.toml", "-o", "OUT/plan.csv"),
    ),
    "command report": Format(
        _with(_own_npz),
        command("report", "PREDS", "-o", "OUT/r.html", "--events", "OUT/events.toml"),
    ),
    "command report zarr": Format(_zarr2("zlib"), command("report", "PREDS", "-o", "OUT/r.html")),
}


def parts(tree: Tree, kind: Format) -> tuple[Tree, Tree]:
    """What may be damaged, and what stays."""
    stays = {name: data for name, data in tree.items() if not name.startswith(kind.damage)}
    return {name: data for name, data in tree.items() if name not in stays}, stays


def clean(folder: Path) -> None:
    """Remove a sample and what came of it."""
    shutil.rmtree(folder, ignore_errors=True)


def chosen(wanted: str | None, formats: dict[str, Format]) -> Iterator[str]:
    """The names of the formats that contain one of some words, separated by commas."""
    words = [word.strip() for word in (wanted or "").split(",") if word.strip()]
    for name in formats:
        if not words or any(word in name for word in words):
            yield name
