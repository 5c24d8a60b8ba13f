"""Ten networks and five readers on electrocardiograms that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import labelwise as lw


def test_what_is_there():
    ecg = lw.demo.load_ecg_ensemble()
    assert ecg.ensemble.probs.shape == (10, 827, 6)
    assert ecg.votes.shape == (5, 827, 6)
    assert ecg.y_true.shape == (827, 6)
    assert len(ecg.age) == len(ecg.sex) == 827
    assert len(ecg.readers) == 5
    assert ecg.ensemble.class_names == ecg.class_names
    assert ecg.class_names == ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")


def test_networks_and_readers_are_about_the_same_cases():
    ecg = lw.demo.load_ecg_ensemble()
    assert len({member.tobytes() for member in ecg.ensemble.probs}) == 10
    networks = (ecg.ensemble.mean() > 0.5) == ecg.y_true
    assert networks.mean(axis=0).min() > 0.97
    assert (ecg.votes == ecg.y_true).mean(axis=(1, 2)).min() > 0.97
    # where both cardiologists agree, the gold standard is theirs, but for 6 of the 4,962 answers
    alike = ecg.votes[0] == ecg.votes[1]
    assert np.sum((ecg.votes[0] != ecg.y_true) & alike) == 6


def test_the_notice_of_its_license_is_beside_it():
    text = (Path(lw.demo.__file__).parent / "ecg-LICENSE.txt").read_text()
    assert "Copyright (c) 2020 Antonio Horta Ribeiro" in text
    assert "The above copyright notice and this permission notice shall be included" in text
