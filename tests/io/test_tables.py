"""What the columns of a flat table mean."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from small_tables import PROBS, Y, check, frame


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


def test_prefixes_say_what_columns_are(tmp_path) -> None:
    rows = "\n".join(",".join(map(str, [i, 50 + i, *np.log(PROBS[0, i])])) for i in range(6))
    (tmp_path / "p.csv").write_text("id,age,logit_cat,logit_dog,logit_eel\n" + rows)
    p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, ids=[str(i) for i in range(6)])
    assert p.kind == "logits"
    assert "not read, because by name it is no class: `age`" in p.notes
