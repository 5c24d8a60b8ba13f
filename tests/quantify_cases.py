"""Predictions in every format for `quantify`, and how its results are read back."""

from __future__ import annotations

import numpy as np

from labelwise.io import save_predictions

NAMES = ["lung", "lymphoma", "melanoma"]


def predictions(n: int = 500, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(3, 0.5), (4, n)).astype(dtype)


def write(path, probs: np.ndarray, optional) -> None:
    if path.suffix == ".zarr":
        group = optional("zarr").open_group(str(path), mode="w")
        group.create_array("probs", data=probs, chunks=(probs.shape[0], 64, probs.shape[2]))
        group.attrs["class_names"] = NAMES
    elif path.suffix == ".parquet":
        pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
        path.mkdir(exist_ok=True)
        ids = [f"case {i}" for i in range(probs.shape[1])]
        for i, member in enumerate(probs):
            columns = dict(zip(NAMES, member.T, strict=True))
            pq.write_table(
                pa.table({"ids": ids} | columns),
                path / f"m{i}.parquet",
                row_group_size=70,
                compression="NONE",
                use_dictionary=False,
            )
    elif path.suffix == ".npy":
        np.save(path, probs)
    else:
        save_predictions(path, probs=probs, class_names=NAMES)


def read(path, name: str, optional) -> np.ndarray:
    if path.suffix == ".zarr":
        return np.asarray(optional("zarr").open_group(str(path), mode="r")[name][:])
    if path.suffix == ".parquet":
        table = optional("pyarrow.parquet").read_table(path)
        columns = (
            [name]
            if name in table.column_names
            else [c for c in table.column_names if c.startswith(f"{name}.")]
        )
        values = [table.column(c).to_numpy() for c in columns]
        return values[0] if "_sum_" in name else np.stack(values, axis=-1)
    with np.load(path, allow_pickle=False) as file:
        return file[name]


def interrupt_after(rows: int):
    def progress(done: int, n: int) -> None:
        if done >= rows:
            raise KeyboardInterrupt

    return progress
