"""The pictures of docs/report.md, taken of the demonstration's page:
LABELWISE_PICTURES=docs/pictures pytest tests/report/test_pictures.py
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

import labelwise as lw
from labelwise.report import build_report

ROOT = Path(__file__).parents[2]
WIDE = ("overview", "rejection", "explorer", "planner")


@pytest.fixture(scope="session")
def fashion():
    f = lw.demo.load_fashion_ensemble()
    return build_report(
        f.ensemble,
        y_true=f.y_true,
        images=f.images,
        image_index=f.image_index,
        ood=f.ood,
        title="FashionMNIST, five networks",
    )


def size(path: Path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_pictures_of_the_page(fashion, open_page, tmp_path) -> None:
    folder = Path(os.environ.get("LABELWISE_PICTURES") or tmp_path)
    page = open_page(fashion, width=1080, height=820)
    for name in WIDE:
        page.evaluate(f"document.getElementById('{name}').scrollIntoView()")
        if name == "planner":
            page.locator("#costs input[data-kind=missed][data-class='6']").fill("5")
            page.evaluate("document.activeElement.blur()")
        page.screenshot(path=folder / f"report-{name}.png")
        assert size(folder / f"report-{name}.png") == (1080, 820)
    phone = open_page(fashion, width=390, height=820, dark=True)
    phone.evaluate("document.getElementById('detail').scrollIntoView()")
    phone.screenshot(path=folder / "report-phone.png")
    assert size(folder / "report-phone.png") == (390, 820)


def test_documentation_shows_these_pictures() -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    for name in (*WIDE, "phone"):
        assert f"](pictures/report-{name}.png)" in text
        assert (ROOT / "docs" / "pictures" / f"report-{name}.png").is_file()
