"""Nothing is skipped silently: with LABELWISE_REQUIRE_ALL=1 a missing library is a failure."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from optional_libraries import missing, optional

TESTS = Path(__file__).parent


def test_a_library_that_is_there_is_imported():
    assert optional("json.decoder") is sys.modules["json.decoder"]


@pytest.mark.parametrize(
    ("required", "outcome"),
    [("1", pytest.fail.Exception), ("0", pytest.skip.Exception), (None, pytest.skip.Exception)],
)
def test_a_missing_library_skips_or_fails(required, outcome, monkeypatch):
    if required is None:
        monkeypatch.delenv("LABELWISE_REQUIRE_ALL", raising=False)
    else:
        monkeypatch.setenv("LABELWISE_REQUIRE_ALL", required)
    with pytest.raises(outcome, match=r"no_such_library\.part is not installed"):
        optional("no_such_library.part")
    with pytest.raises(outcome, match="there is no browser"):
        missing("there is no browser")


@pytest.mark.parametrize(("required", "said"), [("1", "1 error in"), ("0", "1 skipped in")])
def test_so_does_the_top_of_a_module(required, said, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWISE_REQUIRE_ALL", required)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_it.py").write_text(
        'from optional_libraries import optional\noptional("no_such_library")\n\ndef test_it():\n  '
        "  pass\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        "-c",
        "/dev/null",
        "test_it.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said in done.stdout
    assert "no_such_library is not installed" in done.stdout + done.stderr or required == "0"


def test_no_test_has_a_rule_of_its_own():
    for path in [*TESTS.rglob("*.py"), TESTS.parent / "conftest.py"]:
        if "node_modules" not in path.parts:
            names = {
                node.attr
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Attribute)
            }
            assert "importorskip" not in names, (
                f"{path} must use `optional`, which does not skip silently"
            )
