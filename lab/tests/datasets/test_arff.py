"""Columns of .arff and .csv files: what is quoted, damaged or long."""

from __future__ import annotations

import csv
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
@attribute 'blood group' {A, B, 'A B', "0"}
@attribute sex {m, f}
@attribute grade {0, 1, 2, 3}
@attribute constant {x}
@attribute never real
@attribute class {healthy, 'it\\'s ill', other, dead}
@data
61.5, A, f, 0, x, ?, healthy
?,'A B',m,3,x,?,'it\\'s ill'
% another comment

40,"0",?,?,x,?,"dead"
33,?,f,1,x,?,healthy
"""


def test_arff(tmp_path: Path) -> None:
    path = tmp_path / "clinic.arff"
    path.write_text(ARFF.replace("\n", "\r\n"))
    data = load_table(path, test_size=0.5)
    assert data.name == "clinic"
    assert data.class_names == ("healthy", "it's ill", "dead")  # as listed; `other` never occurs
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
            ("nan", "0", "0", "1", "0", "0", "3", "it's ill"): 1,
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    [
        "'a'" + " " * 80_000 + "x",
        "'" + " " * 80_000,
        "1" + " " * 80_000 + "', y",
        "'a" + "\\\\" * 80_000,
        "'a'" + ", " * 80_000,
        '"\'"' * 40_000,
    ],
)
def test_long_lines_take_no_longer_than_their_length(tmp_path: Path, line: str) -> None:
    path = tmp_path / "long.arff"
    path.write_text(f"@relation r\n@attribute a {{x}}\n@attribute class {{0, 1}}\n@data\n{line}\n")
    with pytest.raises(ValueError, match=r"long\.arff: (line 5 has|column)"):
        load_table(path)
    path.write_text(
        f"@relation r\n@attribute{' ' * 80_000}'a' {{{line}}}\n@attribute class {{0, 1}}\n@data\n"
    )
    with pytest.raises(ValueError, match=r"long\.arff: "):
        load_table(path)


def test_quoted_values(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    head = (
        "@relation r\n@attribute a {x, 'y, \\'z', ?}\n@attribute b {u, v}\n@attribute class {0, "
        "1}\n@data\n"
    )
    path.write_text(head + "x, u, 0\n 'y, \\'z' , \"v\" , 1\n'x',,0\nx,v,'1'\n")
    data = load_table(path, test_size=0.5)
    assert data.features == ("a=y, 'z", "b=v") or data.features == ("a=x", "a=y, 'z", "a=?", "b=v")
    for line in ("x, 'u' v, 0", "x, 'u, 0", 'x, "u, 0'):
        path.write_text(head + line + "\n")
        with pytest.raises(ValueError, match="line 6 has a quotation mark without its partner"):
            load_table(path)
    path.write_text(head + "'x', u, 0,\n")
    with pytest.raises(ValueError, match="line 6 has 4 values, but there are 3 columns"):
        load_table(path)


BAD = {
    "a.txt": ("x,y\n1,2", "tables are read from .arff and .csv files"),
    "empty.csv": ("", "its first line must name the columns"),
    "one.csv": ("x\n1\n", "its first line must name the columns"),
    "twice.csv": ("x,x,y\n1,2,3\n", "two columns are called 'x'"),
    "ragged.csv": ("x,y\n1,a\n2\n", "line 3 has 1 values, but there are 2 columns"),
    "zero.csv": ("x,y\n1,\0\n", "it contains zero bytes"),
    "long.csv": ("x,y\n1," + "a" * 200_000 + "\n", "line 2 cannot be read as CSV"),
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
    "nodata.arff": ("@relation r\n@attribute a real\n", "no @data line"),
    "noattribute.arff": ("@relation r\n@data\n1,2\n", "no @attribute line"),
    "garbage.arff": ("hello\n", "line 1 is neither @relation, @attribute nor @data"),
    "empty.arff": ("", "no @data line"),
    "sparse.arff": (
        "@attribute a real\n@attribute c {x,y}\n@data\n{1000000000000 3, 1 x}\n",
        "line 4 is in sparse ARFF notation",
    ),
    "text.arff": ("@attribute a string\n@data\n", "attribute 'a' is of type 'string'"),
    "nothing.arff": ("@attribute a\n@data\n", "attribute 'a' is of type 'nothing'"),
    "noname.arff": ("@attribute\n@data\n", "line 1 is not a valid @attribute line"),
    "quote.arff": (
        "@attribute a {'x,y}\n@data\n",
        "line 1 has a quotation mark without its partner",
    ),
    "quotes.arff": (
        "@attribute a real\n@attribute c {x,y}\n@data\n1,'x\n",
        "line 4 has a quotation mark without its partner",
    ),
    "unlisted.arff": (
        "@attribute a real\n@attribute c {x,y}\n@data\n1,x\n2,z\n",
        "column 'c' has the value 'z', which its @attribute line does not list",
    ),
    "ragged.arff": (
        "@attribute a real\n@attribute c {x,y}\n@data\n1,x,3\n",
        "line 4 has 3 values, but there are 2 columns",
    ),
    "nonumber.arff": (
        "@attribute a real\n@attribute c {x,y}\n@data\n1,x\nabc,y\n",
        "column 'a' is declared numeric, but has the value 'abc'",
    ),
}


def test_the_length_of_cells_is_bounded_whatever_others_allow(tmp_path: Path) -> None:
    content, sentence = BAD["long.csv"]
    (tmp_path / "long.csv").write_text(content)
    before = csv.field_size_limit(2**30)
    try:
        with pytest.raises(ValueError, match=sentence):
            load_table(tmp_path / "long.csv")
    finally:
        csv.field_size_limit(before)


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
    with path.open("wb") as file:
        file.truncate(2**29)
    with pytest.raises(ValueError, match=r"a\.csv: tables of more than 268.4 MB are not read here"):
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
