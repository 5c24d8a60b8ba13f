"""The results as Markdown."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import growth
from table import Measured, Row
from values import RANGES

_PROCESSORS = "## Other processors"


def row(section: str, row: Row, found: Measured) -> dict[str, Any]:
    """What is known of a measured row, as plain data."""
    ours = found.seconds["ours"]
    faster = [name for name in row.plain if found.seconds[name] < ours]
    return {
        "section": section,
        "name": row.name,
        "size": f"{row.size} {row.dtype}",
        "values": row.values,
        "seconds": dict(found.seconds),
        "ratio": found.ratio,
        "compared": next(
            iter(row.plain), "read + write" if row.name.startswith("quantify") else ""
        ),
        "each": ours / found.count,
        "target": row.target.text,
        "slower": faster,
        "misses": not row.target.reached(found),
    }


def _flag(r: Mapping[str, Any]) -> str:
    slower = f"SLOWER than {', '.join(r['slower'])}" if r["slower"] else ""
    return "; ".join(filter(None, [slower, "misses" if r["misses"] else ""]))


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"


def _cells(r: Mapping[str, Any]) -> list[str]:
    seconds = r["seconds"]
    others = ", ".join(
        f"{name} {_ms(t)}" for name, t in seconds.items() if name not in ("ours", "reference")
    )
    if "reference" in seconds:
        name = "read + write" if r["name"].startswith("quantify") else "NumPy call"
        others = ", ".join(filter(None, [others, f"{name} {_ms(seconds['reference'])}"]))
    each = r["each"] * 1e9
    unit = f"{each:.3g} ns" if each < 1000 else f"{each / 1000:.3g} µs"
    ratio = (
        seconds["reference"] / seconds["ours"]
        if r["ratio"] is None and "reference" in seconds
        else r["ratio"]
    )
    return [
        _ms(seconds["ours"]),
        unit,
        others or "–",
        "–" if ratio is None else f"{ratio:.2g}",
        r["target"],
        _flag(r),
    ]


def line(r: Mapping[str, Any]) -> str:
    """One row for the terminal."""
    return " | ".join([f"{r['name']}, {r['values']}".rstrip(", "), r["size"], *_cells(r)])


def _table(header: list[str], lines: list[list[str]]) -> list[str]:
    return ["", *(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *lines))]


def whole(
    results: list[dict[str, Any]],
    accuracy: list[dict[str, float]],
    extra: dict[str, Any],
    machine: str,
    *,
    quick: bool,
) -> str:
    """The whole page, without the section on other processors."""
    how = "make bench-quick" if quick else "make bench"
    parts = [
        "# Speed",
        "",
        f"Written by `{how}` on {datetime.date.today().isoformat()}. {machine}.",
        "",
        (
            "Milliseconds, median of the rounds, of label-wise TU, AU and EU and their sums. "
            "*Plain* is the formula as anyone writes it with"
        ),
        (
            "the library that is named (`plain.py`), which does not validate its input and loses "
            "digits where members agree; where the"
        ),
        (
            "library is not the point, SciPy or NumPy. Both run in turn in one process. *Ratio*: "
            "the first plain time divided by ours."
        ),
        "*SLOWER*: a plain formula is faster. *misses*: the target is not reached.",
        "",
        _verdict(results),
    ]
    single = [r for r in results if r["section"] == "table"]
    header = ["road", "data", "ours, ms", "each", "plain, ms", "ratio", "target", ""]
    if single:
        rows = [[r["name"], f"{r['values']} {r['size']}".strip(), *_cells(r)] for r in single]
        parts += ["", "## Distributions, shapes and files", *_table(header, rows)]
    parts += _ranges([r for r in results if r["section"] == "ranges"])
    parts += _accuracy(accuracy) + _extras(extra)
    return "\n".join(parts) + "\n"


def _verdict(results: list[dict[str, Any]]) -> str:
    slower, misses = (sum(bool(r[key]) for r in results) for key in ("slower", "misses"))
    return (
        f"Of {len(results)} rows, a plain formula is faster in {slower}, and the target is missed "
        f"in {misses}: [why](misses.md)."
    )


def _ranges(results: list[dict[str, Any]]) -> list[str]:
    """Ratio and milliseconds of each road (down) and range of values (across)."""
    if not results:
        return []
    lines = []
    for name in dict.fromkeys(r["name"] for r in results):
        here = {r["values"]: r for r in results if r["name"] == name}
        first = next(iter(here.values()))
        cells = []
        for kind in RANGES:
            r = here.get(kind)
            flag = f" **{_flag(r)}**" if r and _flag(r) else ""
            cells.append(
                "" if r is None else f"{r['ratio']:.2g} ({_ms(r['seconds']['ours'])}){flag}"
            )
        lines.append([name, first["size"], first["compared"], first["target"], *cells])
    text = [
        "",
        "## Values of every size",
        "",
        (
            "Ratio, in brackets our milliseconds. Real: five networks on FashionMNIST, tiled. "
            "Smooth: as in"
        ),
    ]
    text += [
        (
            "textbooks. Confident: median 4e-11. One-hot: 0 and 1. Subnormal: one class near 1, "
            "the others below the smallest normal number."
        )
    ]
    return [*text, *_table(["road", "size", "plain", "target", *RANGES], lines)]


def _accuracy(found: list[dict[str, float]]) -> list[str]:
    if not found:
        return []
    lines = []
    for a in found:
        ratio, least = a["draws"] / a["ours"], 2.5 if a["spread"] <= 1 else 1
        flag = "; ".join(
            filter(
                None,
                [
                    "misses" if ratio < least else "",
                    "coverage misses" if a["covered"] < 0.93 else "",
                ],
            )
        )
        lines.append(
            [
                f"{a['spread']:g}",
                f"{a['ours']:.2g}",
                f"{a['draws']:.2g}",
                f"{ratio:.2g}",
                f"≥ {least:g}",
                f"{a['covered']:.1%}",
                flag,
            ]
        )
    header = [
        "sd of the logits",
        "RMSE of EU, ours",
        "1,000 draws",
        "ratio",
        "target",
        "the 95 % bound holds (≥ 93 %)",
        "",
    ]
    return [
        "",
        "## LogisticNormal beside plain Monte Carlo",
        "",
        "10 classes, full covariance, log loss, against 65,536 other points.",
        *_table(header, lines),
    ]


def _extras(extra: dict[str, Any]) -> list[str]:
    if not extra:
        return []
    memory = [
        [loss, name if name != "ours" else "labelwise", f"{x:.2f}"]
        for loss, name, x in extra["memory"]
    ]
    scaling = [[f"{n:,}", f"{rate:.0f}"] for n, rate in extra["scaling"]]
    peers = [
        [
            p["package"],
            p["dtype"],
            f"{p['ms']:.3g}",
            f"{p['labelwise']:.3g}",
            f"{p['ms'] / p['labelwise']:.2g}",
        ]
        for p in extra["peers"]
    ]
    return [
        "",
        "## Peak extra memory",
        "",
        (
            "As a multiple of the input, for one call in a process of its own (real 5 × 400,000 × "
            "10 float32):"
        ),
        *_table(["loss", "", "memory ÷ input"], memory),
        "",
        "## Many instances",
        "",
        "5 members, 10 classes, real float32 predictions, log loss:",
        *_table(["instances", "million predictions per second"], scaling),
        "",
        "## Published packages",
        "",
        (
            "They give the joint measures only (entropy, conditional entropy, mutual information, "
            "one value per instance): a part of the work."
        ),
        (
            "5 × 100,000 × 10 real predictions, their own layout; *labelwise* computes everything, "
            "in the same process."
        ),
        *_table(["package", "dtype", "ms", "labelwise, ms", "ratio"], peers),
        "",
        "## Growth",
        "",
        growth.HOW,
        *_table(growth.HEADER, extra["growth"]),
        "",
        "## In proportion",
        "",
        growth.PROPORTION_HOW,
        *_table(growth.PROPORTION_HEADER, extra["proportion"]),
    ]


def processors(found: dict[tuple[str, str], list[dict[str, Any]] | None]) -> str:
    """The section on other processors: ratio and milliseconds of each road, by the kernel and by
    what the libraries were told to use.
    """
    there = {
        key: {(r["name"], r["values"], r["size"]): r for r in rows}
        for key, rows in found.items()
        if rows is not None
    }
    missing = sorted({kernel for (kernel, _), rows in found.items() if rows is None})
    names = list(next(iter(there.values())))
    lines = []
    for key in names:
        cells = []
        for rows in there.values():
            r = rows[key]
            flag = f" **{_flag(r)}**" if r["slower"] else ""
            cells.append(f"{r['ratio']:.2g} ({_ms(r['seconds']['ours'])}){flag}")
        lines.append([key[0], f"{key[1]} {key[2]}", *cells])
    text = [
        _PROCESSORS,
        "",
        (
            "The kernel's clones forced one by one (LABELWISE_KERNEL), with the libraries' own "
            "choice of instructions and with the plainest that"
        ),
        (
            "they can be told to use (NumPy, the C library, BLAS: `.ci/lowest_dispatch.py`). Ratio "
            "of the plain formula to ours, in brackets our"
        ),
        "milliseconds; a fifth of the instances above.",
    ]
    if missing:
        text += ["", f"Not measured: {', '.join(missing)}, which this processor cannot run."]
    return (
        "\n".join(
            [
                *text,
                *_table(["road", "data", *(f"{kernel}, {how}" for kernel, how in there)], lines),
            ]
        )
        + "\n"
    )


def write(path: Path, text: str) -> None:
    """Replace the page, and keep the section on other processors, which is measured by itself."""
    old = path.read_text() if path.exists() else ""
    _, mark, rest = old.partition(f"\n{_PROCESSORS}")
    _replace(path, text + mark + rest)


def replace_section(path: Path, text: str) -> None:
    """Replace the section on other processors alone."""
    first, _, _ = (path.read_text() if path.exists() else "# Speed\n").partition(f"\n{_PROCESSORS}")
    _replace(path, f"{first}\n{text}")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(text)
    temporary.replace(path)
