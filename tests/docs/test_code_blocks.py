"""Every code block of the pages is run, or checked, or named here with the reason why it cannot
be.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import labelwise.cli
from labelwise.cli import main
from optional_libraries import optional

ROOT = Path(__file__).parents[2]
GENERATED = {"docs/reference/cli.md"}  # the help pages; tests/cli compares them
PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "lab").glob("*.md"),
        *(ROOT / "lab" / "studies").rglob("*.md"),
    )
    if path.relative_to(ROOT).as_posix() not in GENERATED
)
DOCTESTED = ("docs/", "README.md")  # where pytest collects examples, see pyproject.toml
DIRECTIVES = {"{toctree}", "{eval-rst}", "{include}"}  # of the site, with nothing to run
# Start of a block: why it is not run here.
NOT_RUN = {
    "@dataclass(frozen=True, eq=False)": (
        "an outline; tests/distributions/test_base.py is the whole"
    ),
    "files, models ─▶ predictions": "a drawing",
    "# losses/": "the library's own code; tests/docs/test_design.py compares them",
    "# distributions/": "the same",
    "# _engine/": "the same",
    "# decomposition/": "the same",
    'lw.decompose(q, "log").total ': "each line is run by tests/docs/test_measures.py",
    "10 test patients": "what a run printed; lab/tests/petct/test_report.py writes it again",
    "MNIST/raw, FashionMNIST/raw": "files in folders",
    "SVHN (cropped digits) (svhn) was not found": "a message; tests/datasets checks it",
    "default = 1": "costs in TOML; run with its command below",
    "id,cat,dog,label": "a table; run with its commands below",
    "studies/metadata.csv": "files in folders",
    "2 · AU_k": "a formula",
    "slicer.util.loadVolume": "in Slicer",
    "const nv = new niivue": "in a browser, with NiiVue",
    "q = lw.Ensemble.from_logits(clf.predict_raw_logits": "TabPFN's weights need its hub",
    "q = lw.from_models({m: lambda X, m=m: predictor": "AutoGluon needs an older pandas",
    "bag = predictor._trainer": "the same",
    # need other libraries: make test-ecosystem
    "wandb.log(": "tests/ecosystem",
    "mlflow.log_metrics(": "tests/ecosystem",
    "class LogUncertainty(lightning.Callback)": "tests/ecosystem",
    "suspects = cleanlab": "tests/ecosystem",
    "la = Laplace(": "tests/ecosystem",
    "q = lw.from_models([unet1": "tests/ecosystem",
    "q = lw.Ensemble(samples, member_axis=1)": "tests/ecosystem",
    "class LabelwiseUncertainty(torchmetrics.Metric)": "tests/ecosystem",
}


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language ("" for indented ones) and text of each block."""
    fenced = re.compile(r"^ *(```+|:::+)(\S*)[^\n]*\n(.*?)^ *\1\s*$", re.MULTILINE | re.DOTALL)
    for found in fenced.finditer(text):
        yield found[2], textwrap.dedent(found[3])
    rest = fenced.sub("", text)
    yield from (
        ("", found[1])
        for found in re.finditer(r"(?:\A|\n)\n((?:    \S.*\n(?:\n(?=    ))?(?:     .*\n)*)+)", rest)
    )


def refused(language: str, block: str, doctested: bool) -> str | None:
    """Why a block may contain something that nobody ran, or None."""
    block = re.sub(r"^    ", "", block, flags=re.MULTILINE) if not language else block
    if language in DIRECTIVES or any(block.startswith(start) for start in NOT_RUN):
        return None
    if block.startswith(">>>"):
        return None if doctested else "an example where pytest does not look"
    for line in block.strip().splitlines():
        if mistake := refused_command(line):
            return mistake
    return None


def refused_command(line: str) -> str | None:
    """What is wrong with a line for the shell: its command, its options, its target, its file."""
    words = shlex.split(
        re.split(r"\s{2,}(?=\w+ \w)", line)[0]
        if line.startswith(("make", "labelwise demo"))
        else line,
        comments=True,
    )
    match words:
        case []:
            return None
        case ["labelwise", *arguments]:
            return refused_arguments(labelwise.cli.main, arguments)
        case ["labelwise-lab", *arguments]:
            return refused_arguments(optional("labelwise_lab.cli").main, arguments)
        case ["make", *targets]:
            known = re.findall(
                r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
            )
            return (
                None
                if all(target in known for target in targets if "=" not in target)
                else f"no target: {line}"
            )
        case ["python", file, *_]:
            return None if file == "-m" or (ROOT / file).is_file() else f"no file: {line}"
        case ["pip", "install", *_] | ["git", *_] | ["bash", ".ci/run"]:
            return None
        case ["nnUNetv2_predict", *_] | ["TotalSegmentator", *_]:
            return None  # they need trained networks
    return f"neither run nor explained: {line!r}"


def refused_arguments(command: click.Command, arguments: list[str]) -> str | None:
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        if name in ("…", "..."):
            return None
        if (found := command.get_command(click.Context(command), name)) is None:
            return f"no command {name!r}"
        command = found
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    unknown = [
        word
        for word in arguments
        if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known
    ]
    return f"{command.name} has no {unknown}" if unknown else None


def test_blocks_are_run_or_explained():
    wrong = []
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        for language, block in blocks(path.read_text(encoding="utf-8")):
            mistake = refused(language, block, name.startswith(DOCTESTED))
            wrong += [(name, mistake)] if mistake else []
    assert wrong == []


def test_commands_in_sentences_exist():
    wrong = []
    for path in PAGES:
        for command in re.findall(
            r"(?<!`)`(labelwise(?:-lab)? [a-z][^`\n]*)`", path.read_text(encoding="utf-8")
        ):
            mistake = refused_command(command.replace("|", " ").split(" … ")[0])
            wrong += [(path.name, command, mistake)] if mistake else []
    assert wrong == []


@pytest.mark.parametrize(
    ("language", "block", "expected"),
    [
        ("python", "print(1)\n", "neither run"),
        ("pycon", ">>> 1\n1\n", None),
        ("", "    labelwise quantify a.npz --nowhere\n", "has no ['--nowhere']"),
        ("", "    labelwise quantfy a.npz\n", "no command 'quantfy'"),
        ("console", "labelwise report a.npz -o b.html\n", None),
        ("sh", "make nothing\n", "no target"),
        ("sh", "rm -rf /\n", "neither run"),
    ],
)
def test_what_nobody_ran_is_reported(language, block, expected):
    mistake = refused(language, block, doctested=True)
    assert mistake is None if expected is None else expected in mistake


def test_explanations_are_needed():
    everything = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [start for start in NOT_RUN if start not in everything] == []


def commands(page: str) -> list[list[str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [shlex.split(line) for line in re.findall(r"^    labelwise (.*)$", text, re.MULTILINE)]


@pytest.mark.parametrize("page", ["docs/start/files.md", "docs/howto/csv_per_model.md"])
def test_quickstart_commands_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = "id,cat,dog,fox,label\na,0.8,0.1,0.1,cat\nb,0.5,0.4,0.1,dog\nc,0.2,0.2,0.6,fox\n"
    Path("models").mkdir()
    for i in range(1, 4):
        for folder in (".", "models"):
            Path(folder, f"model{i}.csv").write_text(
                table.replace("0.5,0.4", f"0.{i},0.{9 - i}"), encoding="utf-8"
            )
    Path("truth.csv").write_text("id,label\na,cat\nb,dog\nc,fox\n", encoding="utf-8")
    found = commands(page)
    assert len(found) == 3
    for arguments in found:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    assert Path("uncertainty.csv").read_text(encoding="utf-8").startswith("id,log_total.cat")
    assert Path("report.html").is_file()


def test_costs_of_the_page_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "costs.md").read_text(encoding="utf-8")
    toml = re.search(r"((?:^    .*\n)+)", text[text.index("From the shell") :], re.MULTILINE)[1]
    Path("costs.toml").write_text(re.sub(r"^    ", "", toml, flags=re.MULTILINE), encoding="utf-8")
    probs = np.random.default_rng(0).dirichlet([6, 2, 1], (5, 20))
    np.savez("preds.npz", probs=probs, class_names=["nevus", "keratosis", "melanoma"])
    for command in re.findall(r"`labelwise ((?:decide|report)[^`]*)`", text):
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert Path("decisions.csv").is_file()
