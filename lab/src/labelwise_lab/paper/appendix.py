"""The appendix of the claims: every stored table and figure, with its command and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, floor, log10
from pathlib import Path

from ..pages import fill, interval, spread, table
from ..text import PARTS
from .audit import AUDITED, TOLERANCE
from .fingerprint_section import gap_to_the_paper
from .missing import TRAININGS
from .provenance import TITLES, Results, in_words, not_run, provenance
from .published_tables import TABLE_1, TABLE_2
from .records import distinct, select
from .scores import MEASURES
from .sentences import (
    arc_in_words,
    artifact_in_words,
    holdout_in_words,
    human_in_words,
    losses_in_words,
    ood_in_words,
)
from .tables import DROP_COLUMNS, EFFECT_COLUMNS, drop_rows, effect_rows

__all__ = ["appendix", "table_1_rows"]


def appendix(folder: Results) -> str:
    """The page as Markdown."""
    galleries = {f"gallery-{part}.png": f"Highest {part} uncertainty" for part in PARTS}
    curves = {"arc.png": "Accuracy–rejection curves"}
    subsets = {"artifact.png": "AUROC of every subset of the members"}
    runs = sum(stored["about"]["runs"] for _, stored in folder.find("holdout"))
    sections: dict[str, Iterable[str]] = {
        "versions": [folder.versions()],
        "audited": [AUDITED],
        "gallery": _section(folder, "gallery", "--data mnist", galleries),
        "arc_in_words": arc_in_words(folder),
        "arc_picture": [
            folder.picture(
                "results-arc.png", "Differences of the area under the accuracy–rejection curve"
            )
        ],
        "arc": _section(folder, "arc", "--data fashion-mnist --runs 5", curves),
        "ood_in_words": ood_in_words(folder),
        "ood": _detection(folder),
        "gap": gap_to_the_paper(folder),
        "fingerprint": _fingerprint(folder),
        "artifact_in_words": artifact_in_words(folder),
        "artifact": _section(folder, "artifact", "--data cifar10", subsets),
        "holdout_in_words": holdout_in_words(folder),
        "holdout": _holdout(folder),
        "losses_in_words": losses_in_words(folder),
        "losses": _section(
            folder, "losses", "--data fashion-mnist --runs 5", {"losses.png": "Six losses"}
        ),
        "human_in_words": human_in_words(folder),
        "human": _section(
            folder, "human", "--data cifar10", {"human.png": "Uncertainty against votes"}
        ),
        "tolerance": [f"{TOLERANCE:g}"],
        "rounding_auroc": [_largest_effect_of_rounding(folder, "ood")],
        "rounding_area": [_largest_effect_of_rounding(folder, "arc")],
        "holdout_runs": [str(runs)],
        "holdout_size": [str(round(runs * 3 * 1e5 * 2 / 1e6))],
    }
    template = Path(__file__).with_name("tables.md")
    return fill(template.read_text(encoding="utf-8"), sections)


def _largest_effect_of_rounding(folder: Results, experiment: str) -> str:
    effects = [s["numbers"].get("effect of rounding") for _, s in folder.find(experiment)]
    return _at_most(max((x for x in effects if x is not None), default=None))


def _at_most(x: float | None) -> str:
    """Rounded up to one digit.

    >>> _at_most(2.04e-5), _at_most(3e-6), _at_most(0.0), _at_most(None)
    ('3e-05', '3e-06', '0', '–')
    """
    if not x:
        return "–" if x is None else "0"
    digit = 10.0 ** floor(log10(x))
    return f"{ceil(round(x / digit, 6)) * digit:.0e}"


def _section(
    folder: Results, experiment: str, usual: str, figures: dict[str, str]
) -> Iterator[str]:
    """Every stored result of an experiment: tables, figures and command."""
    found = folder.find(experiment)
    if not found:
        yield not_run(f"{experiment} {usual}")
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        if experiment != "gallery":
            yield from folder.tables(name, experiment)
        for why in stored["numbers"].get("not run", {}).values():
            yield f"Not run here: {why.rstrip('.')}.\n"
        for file, caption in figures.items():
            yield folder.figure(name, file, caption)
        yield provenance(stored)


def _detection(folder: Results) -> Iterator[str]:
    """Table 1 of the paper beside ours, then all parts."""
    rows = [
        [TITLES[data], TITLES[other], who, *cells]
        for data, other, who, cells in table_1_rows(folder)
    ]
    yield table(["trained on", "against", "", *MEASURES], rows)
    yield folder.picture(
        "results-table1.png", "AUROC of epistemic uncertainty, the paper's and ours"
    )
    yield from _section(
        folder, "ood", "--data fashion-mnist --runs 5", {"ood.png": "ROC curves of the first run"}
    )


def table_1_rows(folder: Results) -> Iterator[tuple[str, str, str, list[str]]]:
    """Rows of the paper's Table 1, each followed by ours: data, other set, whose, and the AUROC of
    each measure.
    """
    for data, pairs in TABLE_1.items():
        for other, printed in pairs.items():
            cells = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in printed.values()]
            yield data, other, "paper, 5 runs", cells
            for name, stored in folder.find("ood", data):
                ours = select(stored["numbers"]["auroc"], set=other, part="epistemic")
                if ours:
                    who = in_words(name, stored, with_data=False)
                    yield data, other, who, [spread(cell) for cell in ours]


def _fingerprint(folder: Results) -> Iterator[str]:
    stored = folder.fingerprint()
    if stored is None:
        yield not_run("fingerprint")
        return
    yield from folder.tables("fingerprint", "fingerprint")
    trainings = stored["numbers"]["trainings"]
    for name in distinct(trainings, "training"):
        if name in TRAININGS:
            words, options = TRAININGS[name]
            runs = select(trainings, training=name)[0]["runs"]
            yield (
                f"- {words}: `labelwise-lab reproduce ood --data fashion-mnist --runs {runs} "
                f"{options}`"
            )
    yield f"\n{provenance(stored)}"


def _holdout(folder: Results) -> Iterator[str]:
    """Table 2 of the paper, from the authors' arrays, and for each of our arms."""
    for data, printed in TABLE_2.items():
        yield f"### {TITLES[data]}\n"
        rows = [
            ["paper", "5", kind, *(f"{m:.4f} ± {sd:.4f}" for m, sd in cells.values()), "", "", ""]
            for kind, cells in printed.items()
        ]
        arrays, found = folder.published(data), folder.find("holdout", data)
        if arrays is not None:
            rows += drop_rows(
                "recomputed from the authors' arrays", arrays["numbers"], arrays["about"]["runs"]
            )
        for _, stored in found:
            rows += [
                row
                for arm, drops in stored["numbers"]["table"].items()
                for row in drop_rows(arm, drops, drops["runs"])
            ]
        yield table(["", *DROP_COLUMNS[1:]], rows)
        if arrays is not None:
            share = arrays["numbers"]["predicted by the other classes"]["value"]
            excess = interval(arrays["numbers"]["excess"], 5)
            yield (
                "In the authors' arrays, a line fitted to the other classes predicts "
                f"{100 * share:.0f} % of the selected class's drop; "
                f"it exceeds the line by {excess} (Student's t with the bootstrap's standard error "
                f"over runs). `{arrays['about']['command']}`\n"
            )
        if not found:
            yield not_run(f"holdout --data {data} --runs 5") + "\n"
        for name, stored in found:
            half = stored["numbers"]["same class on half of the test set"]
            own = stored["numbers"]["same class by mean over own instances"]
            yield (
                f"**{in_words(name, stored)}.** log EU(arm) − log EU(control), same checkpoint and "
                "class:\n"
            )
            yield table(EFFECT_COLUMNS, effect_rows(stored["numbers"]))
            known = ""
            if half[1]:
                known = (
                    f"half of the test set selects the same class in {half[0]} of {half[1]} runs; "
                )
            yield (
                "The class is selected by the mean over all test images, as in the code; "
                f"{known}the text's mean over its own images in {own[0]} of {own[1]}.\n"
            )
            yield folder.figure(
                name,
                "holdout.png",
                "Effect of the new images by run, and ECDF of epistemic uncertainty",
            )
            yield provenance(stored)
