"""Numbers are written the same way by the library and by the page: one table of cases for both
languages.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from labelwise import _format
from optional_libraries import missing

CASES = json.loads(Path(__file__).with_name("number_cases.json").read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[1]


def test_python_writes_the_table() -> None:
    assert len(CASES) > 70
    for function, arguments, text in CASES:
        assert getattr(_format, function)(*arguments) == text, (function, arguments)


def run_script(calls: list[list[object]]) -> list[str]:
    """What the page's functions return; its percent sign is kept on the line of its number by a
    no-break space.
    """
    esbuild = ROOT / "page" / "node_modules" / ".bin" / "esbuild"
    if shutil.which("node") is None or not esbuild.exists():
        missing("the page's tools are not installed: npm ci --prefix page")
    built = subprocess.run(
        [str(esbuild), "src/format.ts", "--bundle", "--format=iife", "--global-name=functions"],
        cwd=ROOT / "page",
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    code = built.stdout + (
        f"\nconsole.log(JSON.stringify({json.dumps(calls)}.map(([name, ...x]) => "
        "functions[name](...x))));"
    )
    done = subprocess.run(
        ["node", "-"], input=code, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return [text.replace("\u00a0", " ") for text in json.loads(done.stdout)]


def test_the_page_writes_the_table() -> None:
    found = run_script([[function, *arguments] for function, arguments, _ in CASES])
    assert found == [text for _, _, text in CASES]


def test_both_languages_agree_on_numbers_of_every_size() -> None:
    rng = np.random.default_rng(0)
    some = [
        *(10.0 ** rng.uniform(-9, 9, 200)).round(9),
        *rng.random(200),
        *(rng.integers(0, 20001, 200) / 20000),
    ]
    calls = [
        [name, x, *extra]
        for x in [*some, *(-y for y in some[:100])]
        for name, *extra in (["percent"], ["percent", 0], ["number"])
    ]
    calls += [
        [name, x, *extra]
        for x in some
        for name, *extra in (["number", 4], ["fixed", 2], ["points", 1], ["count"])
    ]
    expected = [getattr(_format, str(name))(*arguments) for name, *arguments in calls]
    assert run_script(calls) == expected


@pytest.mark.parametrize(
    "function", [_format.number, _format.percent, _format.points, _format.count]
)
def test_unknown_and_infinite_numbers(function) -> None:
    assert [function(x) for x in (None, math.nan, math.inf, -math.inf)][:2] == ["–", "–"]
    assert function(math.inf).endswith("inf")
    assert function(-math.inf) == "-inf"


def test_numpy_numbers_are_numbers() -> None:
    assert _format.percent(np.float64(0.98625), 2) == "98.63 %"
    assert _format.number(np.float32(0.5)) == "0.5"
    assert _format.count(np.int64(3)) == "3"
