"""`import labelwise` is light, and imports inside the package only point along the flow of data."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import labelwise
from optional_libraries import optional

ROOT = Path(labelwise.__file__).parent

HEAVY = [
    "torch",
    "jax",
    "matplotlib",
    "pandas",
    "polars",
    "xarray",
    "click",
    "rich",
    "sklearn",
    "scipy.stats",
    "scipy.special",
    "dask",
    "zarr",
    "nibabel",
    "pyarrow",
    "mpmath",
]

# From what stands on nothing to what stands on everything: a module may import those of the lines
# above its own.
LAYERS = [
    {
        "_cached",
        "_column_words",
        "_errors",
        "_format",
        "_interrupts",
        "_lazy",
    },
    {"_arrays", "_engine"},
    {"_frames", "_engine.blocks", "_engine.host"},
    {"_engine.compute"},
    {"_engine.kernel"},
    {"_validation", "_engine.torch_gradient"},
    {"_resampling"},
    {"_tables"},
    {"losses", "events"},
    {"_engine.jax_traced"},
    {"_engine.ensembles"},
    {"_engine.dirichlet"},
    {"sources"},
    {"language_models"},
    {"distributions"},
    {"decomposition"},
    {"joint", "io"},
    {"accumulator", "metrics", "demo"},
    {"axioms", "models", "evaluation"},
    {"calibration", "sets"},
    {"decisions"},
    {"plots"},
    {"report", "dense"},
    {"typing"},
    {"cli"},
    {"__main__", "__init__"},
]


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after ``code``."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


USES = {
    "import": "import labelwise",
    "ensemble": "import numpy as np, labelwise as lw\n"
    "q = lw.Ensemble(np.full((2, 3, 4), 0.25), weights=[1, 2])\n"
    "for loss in ('log', 'squared', 'spherical', 'zero_one', lw.CostLoss(1, 9)): lw.decompose(q, "
    "loss).normalized().sum()",
    "dirichlet": "import numpy as np, labelwise as lw\n"
    "q = lw.Dirichlet(np.ones((3, 4)))\n"
    "for loss in ('log', 'squared', 'zero_one'): lw.decompose(q, loss, events=lw.events.ordinal(4))",  # noqa: E501
}


@pytest.mark.parametrize("use", USES)
def test_nothing_heavy_is_loaded(use: str) -> None:
    loaded = loaded_after(USES[use])
    assert "labelwise.decomposition" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_submodules_are_found_when_asked_for() -> None:
    loaded = loaded_after("import labelwise")
    assert "labelwise.joint" not in loaded
    assert "labelwise.joint" in loaded_after("import labelwise; labelwise.joint")
    with pytest.raises(AttributeError, match="module 'labelwise' has no attribute 'nonsense'"):
        labelwise.nonsense  # noqa: B018
    assert set(labelwise.__all__) <= set(dir(labelwise))
    assert all(hasattr(labelwise, name) for name in labelwise.__all__)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """The parts of labelwise that a file imports, and whether it does so inside a function."""
    package = ["labelwise", *path.relative_to(ROOT).parts[:-1]]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        node
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(f)
    }
    for node in ast.walk(tree):
        targets: list[list[str]] = []
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            targets = [[*module, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        for target in targets:
            if target[0] == "labelwise":
                yield part(target[1:]), node in inside


def part(path: Sequence[str]) -> str:
    """The part of the package that a module belongs to; the engine's modules are parts of their
    own, below and above the distributions.
    """
    names = [name for name in path if name != "__init__"]
    own = (
        len(names) > 1
        and names[0] == "_engine"
        and any(
            (ROOT / "_engine" / file).is_file()
            for file in (f"{names[1]}.py", f"{names[1].removeprefix('_')}.c")
        )
    )
    return ".".join(names[: 2 if own else 1]) or "__init__"


def part_of(path: Path) -> str:
    return part(path.relative_to(ROOT).with_suffix("").parts)


def is_part(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


FILES = sorted(ROOT.rglob("*.py"))
PUBLIC = [
    path
    for path in FILES
    if (path.name == "__init__.py" or path.parent == ROOT)
    and not any(re.match("_(?!_init)", name) for name in path.relative_to(ROOT).parts)
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in FILES} - set(RANK) == set(), (
        "give each new part a line in LAYERS"
    )


def test_imports_point_one_way() -> None:
    wrong = []
    for path in FILES:
        own = part_of(path)
        for target, _ in imports(path):
            if (
                target == own or own == "__init__" or not is_part(target)
            ):  # itself; the front door; a name such as __version__
                continue
            if {own, target} <= set(RANK) and RANK[target] >= RANK[own]:
                wrong.append(f"{path.relative_to(ROOT)} imports {target}, which stands on {own}")
    assert wrong == []


def test_the_library_does_without_the_lab() -> None:
    assert [
        str(path)
        for path in FILES
        if re.search(r"(import|from) labelwise_lab", path.read_text(encoding="utf-8"))
    ] == []


def test_the_check_sees_every_kind_of_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "losses").mkdir()
    path = tmp_path / "losses" / "new.py"
    path.write_text(
        "from . import base\nfrom .. import joint\nfrom ..plots.bars import x\nfrom .base import "
        "y\nimport labelwise.report\n"
        "from labelwise import cli\nimport numpy\ndef f():\n    from ..demo import load\n"
    )
    assert set(imports(path)) == {
        ("losses", False),
        ("joint", False),
        ("plots", False),
        ("report", False),
        ("cli", False),
        ("demo", True),
    }


def test_public_modules_say_what_they_offer() -> None:
    optional("torch")
    for path in PUBLIC:
        name = ".".join(
            [
                "labelwise",
                *(
                    part
                    for part in path.relative_to(ROOT).with_suffix("").parts
                    if part != "__init__"
                ),
            ]
        )
        module = importlib.import_module(name)
        assert module.__all__, name
        for public in module.__all__:
            if not hasattr(module, public):  # a submodule that is imported when it is used
                importlib.import_module(f"{name}.{public}")
