"""Arrow files: no size in them is believed."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_sizes_in_arrow_files_are_not_believed(tmp_path, optional) -> None:
    """A compressed buffer says how long its content is; a wrong one must not take the memory."""
    pa = optional("pyarrow")
    table = pa.table({"a": np.full(1000, 0.5), "b": np.full(1000, 0.5)})
    path = tmp_path / "p.arrow"
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(
            sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer,
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


def test_text_in_views(tmp_path, optional) -> None:
    """What polars writes; the oldest supported pyarrow neither casts nor measures it."""
    pa = optional("pyarrow")
    from labelwise.io.arrow import _longest

    ids = ["a", "a text of more than twelve bytes", "ü"]
    views = pa.array(ids, pa.string_view())
    assert [_longest(part) for part in (views, views[2:], views[:1], views[:0])] == [32, 2, 1, 0]
    assert [_longest(pa.array(ids, kind)) for kind in (pa.string(), pa.large_string())] == [32, 32]
    table = pa.table({"id": views, "a": np.full(3, 0.5), "b": np.full(3, 0.5)})
    with (
        pa.OSFile(str(tmp_path / "p.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    assert list(lw.load_predictions(tmp_path / "p.arrow").ids) == ids
