from __future__ import annotations

import os

import pytest

from labelwise_lab.petct import find_studies
from labelwise_lab.petct.phantom import KINDS
from labelwise_lab.petct.studies import normal


def test_the_published_layout(phantoms):
    studies, skipped = find_studies(phantoms, diagnoses=KINDS)
    assert skipped == []
    assert len(studies) == 17
    assert len({s.patient for s in studies}) == 15
    assert {s.diagnosis for s in studies} == set(KINDS)
    assert all(
        s.ct.name == "CTres.nii.gz" and s.pet.name == "SUV.nii.gz" and s.seg.name == "SEG.nii.gz"
        for s in studies
    )
    several = [
        {s.diagnosis for s in studies if s.patient == patient}
        for patient in {s.patient for s in studies}
    ]
    assert max(map(len, several)) == 2  # one of the second studies shows no lesion any more


def test_one_level_further_down(phantoms, tmp_path):
    os.symlink(phantoms, tmp_path / "FDG-PET-CT-Lesions")
    below, _ = find_studies(tmp_path, table=phantoms / "metadata.csv", diagnoses=KINDS)
    assert [s.name for s in below] == [s.name for s in find_studies(phantoms, diagnoses=KINDS)[0]]


def test_what_cannot_be_used_is_named(copy):
    root = copy(6)
    studies, _ = find_studies(root, diagnoses=KINDS)
    by_patient = {s.patient: s for s in studies}
    a, b, c, d, e, f = sorted(by_patient)
    by_patient[a].pet.unlink()
    by_patient[b].ct.unlink()
    table = root / "metadata.csv"
    lines = table.read_text().splitlines()
    lines = [line for line in lines if not line.startswith(c)]
    lines = [line.rsplit(",", 1)[0] + ",SARCOMA" if line.startswith(d) else line for line in lines]
    lines.append(
        next(line for line in lines if line.startswith(e)).rsplit(",", 1)[0] + ",NEGATIVE_"
    )
    lines.append(f"{f}x,CT,./phantom/{f}x/study/CT,NEGATIVE")
    lines.append(",CT,./phantom//study/CT,NEGATIVE")
    table.write_text("\ufeff" + "\n".join(lines) + "\n")
    found, skipped = find_studies(root, diagnoses=KINDS)
    assert {s.patient for s in found} == {f}
    why = {s.patient: s.why for s in skipped}
    assert why[a] == "SUV.nii.gz is missing"
    assert why[b] == "CTres.nii.gz is missing"
    assert why[c] == "metadata.csv has no diagnosis for it"
    assert "its diagnosis 'SARCOMA' is not one of 'negative', 'lung cancer'" in why[d]
    assert "the table has it twice, with" in why[e]
    assert why[f + "x"] == "the table names it, but there is no folder for it"
    assert "its patient must be printable text" in why[""]
    assert all("\n" not in str(s) and s.patient in str(s) for s in skipped)


def test_a_table_of_ones_own(phantoms, tmp_path):
    studies, _ = find_studies(phantoms, diagnoses=KINDS)
    lines = ["patient,study,diagnosis,ct,pet,seg,part"]
    lines += [
        f"P{i},first,{s.diagnosis},{s.ct},{s.pet},,{('train', 'test')[i % 2]}"
        for i, s in enumerate(studies)
    ]
    table = tmp_path / "own.csv"
    table.write_text("\n".join(lines))
    found, skipped = find_studies(tmp_path, table=table, diagnoses=KINDS)
    assert skipped == []
    assert len(found) == 17
    assert found[0].seg is None
    assert {s.part for s in found} == {"train", "test"}

    table.write_text(
        "\n".join([*lines, f"P0,second,negative,{studies[0].ct},{studies[0].pet},,test"])
    )
    with pytest.raises(
        ValueError,
        match="must give all studies of a patient the same part; 'P0' is in 'train' and in 'test'",
    ):
        find_studies(tmp_path, table=table, diagnoses=KINDS)
    table.write_text("\n".join([*lines, f"Q,second,negative,{studies[0].ct},{studies[0].pet},,"]))
    with pytest.raises(ValueError, match="must give a part to all studies or to none"):
        find_studies(tmp_path, table=table, diagnoses=KINDS)
    table.write_text(
        "\n".join(
            [
                *lines,
                f"Q,second,negative,{studies[0].ct},{studies[0].pet},,exam",
                f"R/S,2,negative,{studies[0].ct},,,test",
            ]
        )
    )
    _, skipped = find_studies(tmp_path, table=table, diagnoses=KINDS)
    assert [s.why for s in skipped] == [
        "its part 'exam' is not one of 'train', 'val', 'test'",
        "its patient must be printable text without '/'; got 'R/S'",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"patient,study\na,b\n", "must have the columns"),
        (b"", "must have the columns"),
        (b"patient,study,diagnosis\na,\xff\xfe,c\n", "cannot be used"),
        (b"patient,study,diagnosis\n", "there are no studies"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        find_studies(tmp_path)


def test_no_table_two_tables_no_folder(tmp_path):
    with pytest.raises(ValueError, match=r"must hold one .csv file with the diagnoses; found 0"):
        find_studies(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        find_studies(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        find_studies(tmp_path, table=tmp_path / "nothing.csv")


def test_names_of_diagnoses():
    assert normal("LUNG_CANCER") == normal(" Lung  cancer") == "lung cancer"
