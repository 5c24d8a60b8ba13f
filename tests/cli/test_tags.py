"""Tags of a report's page, read by ``labelwise acquire`` and ``labelwise evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from command_line import run

N = 60
PROBS = np.random.default_rng(0).dirichlet(np.ones(3), (4, N))
Y = np.random.default_rng(1).integers(0, 3, N)
BLURRED, CHECK = [3, 9, 20], [12, 30]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Predictions with ids and without, and the tags that a page about them exports."""
    monkeypatch.chdir(tmp_path)
    np.savez("unnamed.npz", probs=PROBS, y_true=Y)
    np.savez("named.npz", probs=PROBS, y_true=Y, ids=[f"scan-{i}" for i in range(N)])
    tags = [(i, "blurred") for i in BLURRED] + [(i, "check") for i in CHECK]
    by_id = ["id,tag,note", *(f'scan-{i},{tag},"a, b"' for i, tag in tags)]
    Path("named.csv").write_text("\n".join([*by_id, "scan-0,,only a note", "scan-99,check,"]))
    by_row = ["row,tag,note", *(f"{i + 1},{tag}," for i, tag in tags)]
    Path("unnamed.csv").write_text("\n".join(by_row))
    return tmp_path


def chosen(*words: object) -> list[int]:
    result = run("acquire", *words, "--json")
    assert result.exit_code == 0, result.output
    key = "id" if "named.npz" in words else "instance"
    return [
        int(str(case[key]).removeprefix("scan-")) for case in json.loads(result.stdout)["chosen"]
    ]


@pytest.mark.parametrize("name", ["named", "unnamed"])
def test_cases_with_a_tag_are_chosen_alone_or_never(here, name) -> None:
    given = [f"{name}.npz", "--tags", f"{name}.csv"]
    score = lw.decisions.acquire(lw.Ensemble(PROBS), budget=1).score
    best = np.argsort(-score, kind="stable").tolist()
    assert sorted(chosen(*given, "--budget", 3, "--only", "blurred")) == BLURRED
    both = chosen(*given, "--budget", 4, "--only", "blurred", "--only", "check")
    assert both == [i for i in best if i in BLURRED + CHECK][:4]
    rest = chosen(*given, "--budget", N - 3, "--exclude", "blurred")
    assert rest == [i for i in best if i not in BLURRED]


@pytest.mark.parametrize("name", ["named", "unnamed"])
def test_the_cases_of_each_tag_beside_all(here, name) -> None:
    result = run("evaluate", f"{name}.npz", "--tags", f"{name}.csv", "--json")
    records = {record["tag"]: record for record in json.loads(result.stdout)["tags"]}
    assert list(records) == ["all cases", "blurred", "check"]
    right = PROBS.mean(axis=0).argmax(axis=-1) == Y
    total = lw.decompose(PROBS).sum().total
    for tag, rows in {"all cases": slice(None), "blurred": BLURRED, "check": CHECK}.items():
        assert records[tag]["instances"] == len(right[rows])
        assert records[tag]["accuracy"] == pytest.approx(right[rows].mean())
        assert records[tag]["total"] == pytest.approx(total[rows].mean())
    text = run("evaluate", f"{name}.npz", "--tags", f"{name}.csv").output
    assert "blurred" in text


def test_what_is_not_matched_is_said(here) -> None:
    result = run("evaluate", "named.npz", "--tags", "named.csv")
    assert "rows of named.csv matched by `id`" in result.stderr
    assert "54 cases of 60 not in named.csv" in result.stderr
    assert "1 row of named.csv of no case" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tags", "named.csv"], "give --tags FILE together with --only TAG or --exclude TAG"),
        (["--only", "check"], "give --tags FILE together with --only TAG or --exclude TAG"),
        (
            ["--tags", "named.csv", "--only", "chekc"],
            "no case has the tag 'chekc'; the tags are blurred and check",
        ),
        (["--tags", "named.csv", "--only", "check"], "must be at most the candidates' 2 cases"),
        (["--tags", "other.csv", "--only", "check"], "other.csv must have a column `tag`"),
    ],
)
def test_mistakes_are_one_sentence(here, words, message) -> None:
    (here / "other.csv").write_text("id,site\nscan-3,A\n")
    result = run("acquire", "named.npz", "--budget", 5, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_tags_need_labels_to_be_evaluated(here) -> None:
    np.savez("pool.npz", probs=PROBS)
    result = run("evaluate", "pool.npz", "--tags", "unnamed.csv")
    assert result.exit_code == 2
    assert "evaluation needs true labels" in result.output


def test_one_member_has_no_epistemic_uncertainty(here) -> None:
    np.savez("one.npz", probs=PROBS[:1], y_true=Y)
    result = run("evaluate", "one.npz", "--tags", "unnamed.csv", "--json")
    assert "epistemic" not in json.loads(result.stdout)["tags"][0]
