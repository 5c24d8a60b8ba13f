"""Prediction files, and what `lw.quantify` is measured against: reading one and writing as many
results without computing any.

Both with plain NumPy, zarr and pyarrow, in their own defaults; the results are on the disk at the
end, as those of labelwise are.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np


def copied(source: Path, target: Path) -> None:
    probs = read(source)
    columns = {
        f"log_{part}": np.ascontiguousarray(probs[i])
        for i, part in enumerate(("total", "aleatoric", "epistemic"))
    }
    columns |= {
        f"log_sum_{part}": np.ascontiguousarray(probs[i, :, 0])
        for i, part in enumerate(("total", "aleatoric", "epistemic"))
    }
    _write(target, columns)
    for file in target.rglob("*") if target.is_dir() else [target]:
        if file.is_file():
            with file.open("rb") as written:
                os.fsync(written.fileno())


def read(source: Path) -> np.ndarray:
    if source.suffix == ".npz":
        return np.load(source)["probs"]
    if source.suffix == ".zarr":
        import zarr

        return zarr.open_group(str(source), mode="r")["probs"][:]
    import pyarrow.parquet as pq

    members = []
    for file in sorted(source.iterdir()):
        table = pq.read_table(file)
        flat = table.column("probs").combine_chunks().flatten().to_numpy()
        members.append(flat.reshape(len(table), -1))
    return np.stack(members)


def _write(target: Path, columns: dict[str, np.ndarray]) -> None:
    if target.suffix == ".npz":
        np.savez(target, **columns)
        return
    if target.suffix == ".zarr":
        import zarr

        group = zarr.open_group(str(target), mode="w", zarr_format=2)
        for name, x in columns.items():
            group.create_array(
                name, shape=x.shape, dtype=x.dtype, chunks=(min(len(x), 100_000), *x.shape[1:])
            )[:] = x
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {name: x for name, x in columns.items() if x.ndim == 1}
    table |= {
        f"{name}.{k}": np.ascontiguousarray(x[:, k])
        for name, x in columns.items()
        if x.ndim == 2
        for k in range(x.shape[1])
    }
    pq.write_table(pa.table(table), target)


def stored(target: Path, probs: np.ndarray) -> None:
    """Write a prediction file as plain NumPy, zarr or pyarrow does; for pyarrow a folder with a
    file for each member.
    """
    if target.suffix == ".npz":
        np.savez(target, probs=probs)
    elif target.suffix == ".zarr":
        import zarr

        group = zarr.open_group(str(target), mode="w", zarr_format=2)
        chunks = (probs.shape[0], min(probs.shape[1], 100_000), probs.shape[2])
        group.create_array("probs", shape=probs.shape, dtype=probs.dtype, chunks=chunks)[:] = probs
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        _, n, classes = probs.shape
        schema = pa.schema([("probs", pa.list_(pa.float32(), classes))])
        target.mkdir()
        for member, values in enumerate(probs):
            with pq.ParquetWriter(target / f"m{member}.parquet", schema) as writer:
                for i in range(0, n, 250_000):
                    rows = pa.array(values[i : i + 250_000].ravel())
                    lists = pa.FixedSizeListArray.from_arrays(rows, classes)
                    writer.write_table(pa.table([lists], schema=schema))
