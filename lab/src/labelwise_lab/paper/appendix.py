"""The appendix of the results page: every stored table and figure, with its command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..text import PARTS
from .missing import TRAININGS
from .provenance import TITLES, Results, in_words, markdown, not_run, provenance
from .published_tables import TABLE_1, TABLE_2
from .scores import MEASURES
from .tables import DROP_COLUMNS, EFFECT_COLUMNS, drop_rows, effect_rows, interval, spread

__all__ = ["appendix"]


def appendix(folder: Results) -> str:
    """The page as Markdown."""
    galleries = {f"gallery-{part}.png": f"Highest {part} uncertainty" for part in PARTS}
    sections = {
        "versions": iter([folder.versions()]),
        "gallery": _section(folder, "gallery", "--data mnist", galleries),
        "arc": _section(
            folder, "arc", "--data fashion-mnist --runs 5", {"arc.png": "Accuracy–rejection curves"}
        ),
        "ood": _detection(folder),
        "fingerprint": _fingerprint(folder),
        "artifact": _section(
            folder,
            "artifact",
            "--data cifar10",
            {"artifact.png": "AUROC of every subset of the members"},
        ),
        "holdout": _holdout(folder),
        "losses": _section(
            folder, "losses", "--data fashion-mnist --runs 5", {"losses.png": "Six losses"}
        ),
        "human": _section(
            folder, "human", "--data cifar10", {"human.png": "Uncertainty against votes"}
        ),
    }
    return filled("tables.md", sections)


def filled(template: str, sections: dict[str, Iterator[str]]) -> str:
    """A template of this folder with its sections in place."""
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    for name, lines in sections.items():
        text = text.replace(f"{{{name}}}", "\n".join(line for line in lines if line).strip())
    return text


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
    rows = []
    for data, pairs in TABLE_1.items():
        for other, measures in pairs.items():
            printed = (f"{m:.3f} ± {sd:.3f}" for m, sd in measures.values())
            rows.append([TITLES[data], TITLES[other], "paper, 5 runs", *printed])
            for name, stored in folder.find("ood", data):
                cells = [
                    stored["numbers"]["auroc"].get(f"{other} | {measure} | epistemic")
                    for measure in MEASURES
                ]
                if all(cells):
                    rows.append(
                        [
                            TITLES[data],
                            TITLES[other],
                            in_words(name, stored, with_data=False),
                            *(spread(cell) for cell in cells if cell),
                        ]
                    )
    yield markdown(["trained on", "against", "", *MEASURES], rows) + "\n"
    yield from _section(
        folder, "ood", "--data fashion-mnist --runs 5", {"ood.png": "ROC curves of the first run"}
    )


def _fingerprint(folder: Results) -> Iterator[str]:
    stored = folder.fingerprint()
    if stored is None:
        yield not_run("fingerprint")
        return
    yield from folder.tables("fingerprint", "fingerprint")
    for name in stored["numbers"]["trainings"]:
        if name in TRAININGS:
            runs = stored["numbers"]["trainings"][name]["runs"]
            yield (
                f"- {TRAININGS[name][0]}: `labelwise-lab reproduce ood --data fashion-mnist --runs "
                f"{runs} {TRAININGS[name][1]}`"
            )
    yield ""
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
                for arm, table in stored["numbers"]["table"].items()
                for row in drop_rows(arm, table, table["runs"])
            ]
        yield markdown(["", *DROP_COLUMNS[1:]], rows) + "\n"
        if arrays is not None:
            share, excess = (
                arrays["numbers"]["predicted by the other classes"]["value"],
                interval(arrays["numbers"]["excess"], 5),
            )
            yield (
                "In the authors' arrays, a line fitted to the other classes predicts "
                f"{100 * share:.0f} % of the selected class's drop; "
                f"it exceeds the line by {excess} (Student's t with the bootstrap's standard error "
                f"over runs). `{arrays['about']['command']}`\n"
            )
        if not found:
            yield not_run(f"holdout --data {data} --runs 5") + "\n"
        for name, stored in found:
            half, own = (
                stored["numbers"][f"same class {rule}"]
                for rule in ("on half of the test set", "by mean over own instances")
            )
            yield (
                f"**{in_words(name, stored)}.** log EU(arm) − log EU(control), same checkpoint and "
                "class:\n"
            )
            yield markdown(EFFECT_COLUMNS, effect_rows(stored["numbers"])) + "\n"
            known = (
                f"half of the test set selects the same class in {half[0]} of {half[1]} runs; "
                if half[1]
                else ""
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
