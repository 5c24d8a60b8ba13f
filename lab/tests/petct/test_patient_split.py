"""No patient in two parts, whatever the table looks like."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise_lab.petct import split_patients

TABLES = st.lists(
    st.tuples(
        st.integers(0, 40).map("p{}".format),
        st.sampled_from(["negative", "lung cancer", "lymphoma", "melanoma"]),
    ),
    min_size=1,
    max_size=120,
)


@given(
    TABLES,
    st.floats(0.05, 0.5),
    st.floats(0, 0.4),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_each_patient_is_in_one_part_and_the_shares_are_kept(table, test, val, seed, random):
    parts = split_patients(table, test_size=test, val_size=val, rng=seed)
    assert set(parts) == {patient for patient, _ in table}
    assert set(parts.values()) <= {"train", "val", "test"}
    n = len(parts)
    counts = Counter(parts.values())
    assert abs(counts["test"] - test * n) <= 1
    assert abs(counts["val"] - val * n) <= 2
    shuffled = list(table)
    random.shuffle(shuffled)
    assert split_patients(shuffled, test_size=test, val_size=val, rng=seed) == parts


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 5))
def test_every_diagnosis_has_its_share(few, many, seed):
    table = [(f"a{i}", "lymphoma") for i in range(few)] + [
        (f"b{i}", "negative") for i in range(many)
    ]
    parts = split_patients(table, test_size=0.25, val_size=0.25, rng=seed)
    for letter, n in (("a", few), ("b", many)):
        found = Counter(part for patient, part in parts.items() if patient[0] == letter)
        assert abs(found["test"] - n / 4) <= 1
        assert abs(found["val"] - n / 4) <= 2


def test_a_patient_with_several_diagnoses_counts_for_the_rarest():
    """Were they counted as negative, all of the rare patients could be in one part."""
    table = [(f"n{i}", "negative") for i in range(40)]
    for i in range(8):
        table += [(f"m{i}", "negative"), (f"m{i}", "melanoma")]
    for seed in range(20):
        parts = split_patients(table, test_size=0.25, val_size=0.25, rng=seed)
        assert Counter(part for patient, part in parts.items() if patient[0] == "m")["test"] in (
            1,
            2,
            3,
        )


def test_other_seeds_give_other_splits():
    table = [(f"p{i}", "negative") for i in range(30)]
    assert len({tuple(split_patients(table, rng=seed).items()) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("test", "val"), [(0, 0.1), (0.6, 0.5), (1.2, 0), (0.2, -0.1), (float("nan"), 0.1)]
)
def test_impossible_shares(test, val):
    with pytest.raises(ValueError, match="`test_size` and `val_size` must be fractions"):
        split_patients([("a", "negative")], test_size=test, val_size=val)
