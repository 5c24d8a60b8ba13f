"""The pictures of the documentation, taken of the demonstration's page:
LABELWISE_PICTURES=docs/pictures pytest tests/report/test_pictures.py
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import labelwise as lw
from labelwise.report import build_report
from report_pages import press, settle

ROOT = Path(__file__).parents[2]
NAMES = ("overview", "selection", "policy", "phone")


def size(path: Path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_pictures_of_the_page(open_page, tmp_path) -> None:
    folder = Path(os.environ.get("LABELWISE_PICTURES") or tmp_path)
    f = lw.demo.load_fashion_ensemble()
    report = build_report(
        f.ensemble,
        y_true=f.y_true,
        images=f.images,
        image_index=f.image_index,
        title="FashionMNIST, five networks",
    )
    page = open_page(report, width=1360, height=900)
    page.screenshot(path=folder / "report-overview.png")
    press(page, "matrix.shirt.T-shirt/top")
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    page.screenshot(path=folder / "report-selection.png")
    page.evaluate("labelwise.go({ terms: [], refer: 'each:0.1:total' })")
    settle(page)
    page.locator("#policy").screenshot(path=folder / "report-policy.png")
    phone = open_page(report, width=390, height=820, dark=True)
    phone.screenshot(path=folder / "report-phone.png")
    for name in ("overview", "selection"):
        assert size(folder / f"report-{name}.png") == (1360, 900)
    assert size(folder / "report-phone.png") == (390, 820)


def test_documentation_shows_these_pictures() -> None:
    pages = ("docs/howto/report.md", "docs/howto/reading_report.md")
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    for name in NAMES:
        assert f"](../pictures/report-{name}.png)" in text
    shown = {path.name for path in (ROOT / "docs" / "pictures").glob("report-*.png")}
    assert shown == {f"report-{name}.png" for name in NAMES}
