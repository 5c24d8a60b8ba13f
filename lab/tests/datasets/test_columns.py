"""Columns of .arff and .csv files: what is quoted, damaged or long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.io.arff import loadarff

from labelwise_lab.datasets import load_table
from whole_tables import rows, whole

ARFF = """% a comment
@RELATION 'patients of a clinic'

@attribute age NUMERIC
@attribute 'blood group' {A, B, 'A B', 0}
@attribute sex {m, f}
@attribute grade {0, 1, 2, 3}
@attribute constant {x}
@attribute never real
@attribute class {healthy, 'so ill', other, dead}
@data
61.5,'A',f,0,x,?,'healthy'
?,'A B',m,3,x,?,'so ill'
% another comment

40,0,?,?,x,?,dead
33,?,f,1,x,?,healthy
"""


def test_arff(tmp_path: Path) -> None:
    path = tmp_path / "clinic.arff"
    path.write_text(ARFF.replace("\n", "\r\n"))
    data = load_table(path, test_size=0.5)
    assert data.name == "clinic"
    assert data.class_names == ("healthy", "so ill", "dead")  # as listed; `other` never occurs
    assert data.features == (
        "age",
        "blood group=A",
        "blood group=B",
        "blood group=A B",
        "blood group=0",
        "sex=f",
        "grade",
    )
    assert not data.published_split
    assert rows(data) == Counter(
        {
            ("61.5", "1", "0", "0", "0", "1", "0", "healthy"): 1,
            ("nan", "0", "0", "1", "0", "0", "3", "so ill"): 1,
            ("40", "0", "0", "0", "1", "nan", "nan", "dead"): 1,
            ("33", "nan", "nan", "nan", "nan", "1", "1", "healthy"): 1,
        }
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(tmp_path: Path, delimiter: str) -> None:
    text = (
        'dose,"color of, skin",kind,id,day\n1.5,red,10,a1,2\n-2e3,"blue, '
        'pale",9,a2,2\n,green,10,a3,2\nNA,red,9,a4,2\n'
    )
    text = (
        text
        if delimiter == ","
        else text.replace(", ", "~").replace(",", delimiter).replace("~", ", ")
    )
    path = tmp_path / "made.csv"
    path.write_text("\ufeff" + text, encoding="utf-8")
    data = load_table(path, target="kind", drop=["id"], test_size=0.5)
    name = "color of, skin"
    assert data.class_names == ("9", "10")  # sorted as numbers; `day` never changes
    assert data.features == ("dose", f"{name}=blue, pale", f"{name}=green", f"{name}=red")
    assert rows(data) == Counter(
        {
            ("1.5", "0", "0", "1", "10"): 1,
            ("-2000", "1", "0", "0", "9"): 1,
            ("nan", "0", "1", "0", "10"): 1,
            ("nan", "0", "0", "1", "9"): 1,
        }
    )
    by_position = load_table(path, target=2, drop=["id"], test_size=0.5)
    assert rows(by_position) == rows(data)


BAD = {
    "a.txt": ("x,y\n1,2", "tables are read from .arff and .csv files"),
    "empty.csv": ("", "its first line must name the columns"),
    "one.csv": ("x\n1\n", "its first line must name the columns"),
    "twice.csv": ("x,x,y\n1,2,3\n", "two columns are called 'x'"),
    "ragged.csv": ("x,y\n1,a\n2\n", "line 3 has 1 values, but there are 2 columns"),
    "onelabel.csv": (
        "x,y\n1,a\n2,a\n",
        "the target 'y' has 1 different values; a classification needs 2 to 1000",
    ),
    "nolabel.csv": ("x,y\n1,a\n2,\n3,?\n", "the target 'y' is missing in 2 of 3 rows"),
    "regression.csv": (
        "x,y\n" + "".join(f"{i},{i / 7}\n" for i in range(1001)),
        "has 1001 different values",
    ),
    "ids.csv": (
        "x,y\n" + "".join(f"id{i},{i % 2}\n" for i in range(101)),
        r"column 'x' has 101 different texts; .* drop=\['x'\]",
    ),
    "constant.csv": ("x,y\n1,a\n1,b\n", "no column with at least two different values"),
    "infinite.csv": ("x,y\n1,a\ninf,b\n", "column 'x' has infinite values"),
    "nodata.arff": ("@relation r\n@attribute a real\n", "not an ARFF file that SciPy reads"),
    "garbage.arff": ("hello\n", "not an ARFF file that SciPy reads"),
    "empty.arff": ("", "not an ARFF file that SciPy reads"),
    "unlisted.arff": (
        "@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n1,x\n2,z\n",
        "not an ARFF file that SciPy reads .*z value not in",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    content, sentence = BAD[name]
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        load_table(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n\xff\xfe,1\n")
    with pytest.raises(
        ValueError, match=r"a\.csv: not a text file in UTF-8 \(invalid start byte at byte 4\)"
    ):
        load_table(path)


@pytest.mark.parametrize("name", ["dermatology", "hypothyroid", "column3C"])
def test_published_arff_files_as_scipy_reads_them(real: Path, name: str) -> None:
    path = real / "medical" / f"{name}.arff"
    records, meta = loadarff(path)
    data = load_table(path)
    assert data.features is not None
    x, y = whole(data)
    theirs, ours = {}, {}
    for column, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "numeric":
            theirs[column] = records[column]
        elif all(value.isdigit() for value in meta[column][1]) and column.lower() != "class":
            theirs[column] = np.array([np.nan if v == b"?" else float(v) for v in records[column]])
    for column, values in theirs.items():
        if np.isfinite(values).any():
            ours[column] = x[:, data.features.index(column)]
            np.testing.assert_array_equal(np.sort(ours[column]), np.sort(values))
    labels = Counter(value.decode() for value in records[meta.names()[-1]])
    assert labels == Counter(data.class_names[k] for k in y)
    assert len(ours) >= 6
