"""Compare docs/_inventories with the full inventories of the projects, and write the addresses that
changed.

    python docs/make_inventories.py                # from the projects' sites
    python docs/make_inventories.py FOLDER         # from FOLDER/numpy.inv and so on

The files hold what the pages refer to, as text (version 1 of the format, whose anchors are the
names), so that a build needs no network and a review can read them. To refer to something new, add
a line; its address is corrected by this script.
"""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent / "_inventories"
SITES = {
    "dask": "https://docs.dask.org/en/stable/",
    "jax": "https://docs.jax.dev/en/latest/",
    "matplotlib": "https://matplotlib.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "python": "https://docs.python.org/3/",
    "sklearn": "https://scikit-learn.org/stable/",
    "torch": "https://docs.pytorch.org/docs/stable/",
    "xarray": "https://docs.xarray.dev/en/stable/",
}


def updated(text: str, full: bytes) -> tuple[str, list[str]]:
    """The inventory with the addresses of a full one, and what that does not have."""
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads(full, uri="")
    header, lines, missing = text.splitlines()[:3], [], []
    for line in text.splitlines()[3:]:
        name, kind, _ = line.split()
        found = inventory.data.get(f"py:{kind}", {}).get(name)
        if found is None or not found.uri.endswith(f"#{name}"):
            missing.append(name)
            lines.append(line)
        else:
            lines.append(f"{name} {kind} {found.uri.removesuffix(f'#{name}')}")
    return "\n".join([*header, *sorted(lines)]) + "\n", missing


def main(folder: str | None = None) -> None:
    """Update every inventory whose full form can be had."""
    for project, site in SITES.items():
        path = HERE / f"{project}.txt"
        if folder is None:
            with urllib.request.urlopen(f"{site}objects.inv") as answer:  # noqa: S310  https, from the table above
                full = answer.read()
        elif (file := Path(folder, f"{project}.inv")).is_file():
            full = file.read_bytes()
        else:
            print(f"{project}: no {file}")  # noqa: T201
            continue
        text, missing = updated(path.read_text(encoding="utf-8"), full)
        print(  # noqa: T201
            f"{project}: {'same' if text == path.read_text(encoding='utf-8') else 'changed'}; not "
            f"there: {missing or 'nothing'}"
        )
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
