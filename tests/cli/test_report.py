"""report: exit codes, output, pipes, and every format."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise.io import load_predictions, save_predictions


@pytest.fixture
def preds(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.5, 0.5, 0.5], (4, 50))
    path = tmp_path / "preds.npz"
    images = rng.random((50, 4, 4))
    save_predictions(
        path,
        probs=probs,
        y_true=rng.integers(0, 3, 50),
        class_names=["none", "mild", "severe"],
        images=images,
    )
    return path


def page_data(html: str):
    return json.loads(html.split('id="meta">')[1].split("</script>")[0])


def page_ids(html: str):
    packed = html.split('id="data-id">')[1].split("</script>")[0]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def test_report_writes_a_page(preds, tmp_path) -> None:
    out = tmp_path / "report.html"
    result = run("report", preds, "-o", out, "--ood", preds, "--title", "My <b>title</b>")
    assert result.exit_code == 0, result.output
    assert "50 cases, 0." in result.output
    data = page_data(out.read_text(encoding="utf-8"))
    stored = load_predictions(preds)
    assert data["title"] == "My <b>title</b>"
    assert data["exact"]["accuracy"]["value"] == pytest.approx(
        np.mean(stored.distribution().mean().argmax(-1) == stored.y_true)
    )
    (aurocs,) = data["exact"]["detection"].values()
    assert aurocs["total.log"]["value"] == pytest.approx(0.5)
    assert data["images"] == {"count": 50, "of": 50}


def test_report_reads_standard_input_and_writes_standard_output(preds) -> None:
    result = run("report", "-", "-o", "-", input=preds.read_bytes())
    assert result.exit_code == 0, result.output
    assert result.output.startswith("<!DOCTYPE html>")
    assert result.output.rstrip().endswith("</html>")
    assert page_data(result.output)["n"] == 50


def test_report_starts_with_the_costs_of_a_file(preds, tmp_path) -> None:
    out, costs = tmp_path / "report.html", tmp_path / "costs.toml"
    costs.write_text("default = 1\nask = 2\n[missed]\nsevere = 20\n")
    result = run("report", preds, "-o", out, "--costs", costs)
    assert result.exit_code == 0, result.output
    data = page_data(out.read_text(encoding="utf-8"))["costs"]
    assert (data["missed"], data["alarm"]) == ([1, 1, 20], [0, 0, 0])
    assert (data["ask"], data["abstain"]) == (2, None)
    costs.write_text("[missed]\nsevre = 20\n")
    result = run("report", preds, "-o", out, "--costs", costs)
    assert result.exit_code == 2
    found = "`missed` names 'sevre', which is not among 'none', 'mild', 'severe'. Did you mean"
    assert found in result.output


def test_metadata_are_joined_and_ids_left_out(preds, tmp_path) -> None:
    named, out = tmp_path / "named.npz", tmp_path / "report.html"
    stored = load_predictions(preds)
    ids = np.array([f"scan-{i}" for i in range(50)])
    save_predictions(named, probs=stored.probs[:], y_true=stored.y_true, ids=ids)
    table = tmp_path / "cases.csv"
    rows = [f"{ids[i]},{'AB'[i % 2]},patient-{i // 2}" for i in range(49, 0, -1)]
    table.write_text("\n".join(["image,site,group", *rows]))
    result = run("report", named, "-o", out, "--metadata", table)
    assert result.exit_code == 0, result.output
    assert "rows of cases.csv matched by `image`" in result.output
    assert "1 case of 50 not in cases.csv" in result.output
    assert "This file contains the ids of its cases and the names of its groups." in result.output
    html = out.read_text()
    columns = page_data(html)["columns"]
    assert [x["name"] for x in columns if x.get("source") == "metadata"] == ["site"]
    assert page_ids(html)[7] == "scan-7"
    result = run("report", named, "-o", out, "--metadata", table, "--no-ids")
    assert result.exit_code == 0, result.output
    html = out.read_text()
    assert "scan-" not in html
    assert "patient-" not in html
    assert 'id="data-id"' not in html


def test_report_about_grades_and_groups(preds, tmp_path) -> None:
    out = tmp_path / "report.html"
    assert run("report", preds, "-o", out, "--ordinal").exit_code == 0
    assert page_data(out.read_text())["labels"] == ["≥ mild", "≥ severe"]
    groups = tmp_path / "groups.toml"
    groups.write_text('ill = ["mild", "severe"]\n')
    assert run("report", preds, "-o", out, "--events", groups).exit_code == 0
    data = page_data(out.read_text())
    u = lw.decompose(load_predictions(preds).distribution(), events={"ill": ["mild", "severe"]})
    assert data["labels"] == ["ill"]
    assert data["exact"]["mean"]["total.log"] == pytest.approx(u.sum().total.mean())


def test_labels_that_occur_together_are_known_by_their_truth(tmp_path) -> None:
    rng = np.random.default_rng(0)
    path, out = tmp_path / "scenes.npz", tmp_path / "report.html"
    probs, y = rng.random((3, 30, 4)), rng.integers(0, 2, (30, 4))
    save_predictions(path, probs=probs, y_true=y)
    assert run("report", path, "-o", out).exit_code == 0
    data = page_data(out.read_text())
    assert data["multilabel"]
    right = (probs.mean(0) > 0.5) == y
    assert data["exact"]["accuracy"]["value"] == pytest.approx(right.all(axis=-1).mean())
    costs = tmp_path / "costs.toml"
    costs.write_text("false_alarm = 1\nmissed = 2\n")
    found = json.loads(
        run("decide", path, "--costs", costs, "--task", "per_label", "--json").output
    )
    plan = lw.decisions.decide(
        lw.MultiLabelEnsemble(probs), lw.decisions.Costs.from_toml(costs), task="per_label"
    )
    assert found["summary"]["cost_after"] == pytest.approx(plan.summary(y).cost_after)
    found = json.loads(run("evaluate", path, "--json").output)
    assert found["accuracy"] == pytest.approx(right.mean())
    errors = lw.calibration.calibration_errors(lw.MultiLabelEnsemble(probs), y.astype(bool))
    assert found["calibration_error"] == pytest.approx(errors.classwise.value.mean())
    assert "share of labels right" in run("evaluate", path).output
    save_predictions(path, probs=probs)
    assert run("report", path, "-o", out).exit_code == 2
    assert run("report", path, "-o", out, "--multilabel").exit_code == 0


def test_report_of_an_evidential_network(tmp_path) -> None:
    alpha = np.random.default_rng(0).gamma(2, 1, (30, 3)) + 0.1
    path, out = tmp_path / "alpha.npz", tmp_path / "report.html"
    save_predictions(path, alpha=alpha, ids=np.array([f"patient {i}" for i in range(30)]))
    result = run("report", path, "-o", out)
    assert result.exit_code == 0, result.output
    data = page_data(out.read_text())
    assert data["exact"]["mean"]["epistemic.log"] == pytest.approx(
        lw.decompose(lw.Dirichlet(alpha)).sum().epistemic.mean()
    )
    assert page_ids(out.read_text())[3] == "patient 3"


@pytest.mark.parametrize("kind", ["zarr", "parquet"])
def test_report_of_other_formats(kind, tmp_path, optional) -> None:
    rng = np.random.default_rng(0)
    probs, y = rng.dirichlet([1.0, 1.0, 1.0], (4, 30)), rng.integers(0, 3, 30)
    path, out = tmp_path / f"preds.{kind}", tmp_path / "report.html"
    if kind == "zarr":
        group = optional("zarr").open_group(str(path), mode="w")
        group.create_array("probs", data=probs)
        group.create_array("y_true", data=y)
    else:
        pa = optional("pyarrow")
        path.mkdir()
        known = {"y_true": y, "ids": [f"case {i}" for i in range(30)]}
        for i, member in enumerate(probs):
            table = pa.table({"probs": list(member)} | known)
            optional("pyarrow.parquet").write_table(table, path / f"m{i}.parquet")
    result = run("report", path, "-o", out)
    assert result.exit_code == 0, result.output
    data = page_data(out.read_text())
    assert data["exact"]["accuracy"]["value"] == pytest.approx(
        np.mean(probs.mean(0).argmax(-1) == y)
    )
    assert len(data["members"]) == 4
    assert any(x["name"] == "id" for x in data["columns"]) == (kind == "parquet")


def test_damaged_ids_are_the_files_fault(tmp_path, optional) -> None:
    group = optional("zarr").open_group(str(tmp_path / "preds.zarr"), mode="w", zarr_format=2)
    group.create_array("probs", data=np.full((2, 30, 2), 0.5))
    group.create_array("ids", data=np.array([f"case {i}" for i in range(30)]))
    chunk = tmp_path / "preds.zarr" / "ids" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    for args in (["report", "-o", tmp_path / "r.html"], ["quantify", "-o", tmp_path / "u.npz"]):
        result = run(args[0], tmp_path / "preds.zarr", *args[1:])
        assert result.exit_code == 2, result.output
        assert result.output.splitlines()[-1].startswith("Error: preds.zarr is damaged")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["PREDS", "-o", "OUT/report.pdf"], "a report is an .html file; got"),
        (["PREDS", "-o", "OUT/nowhere/report.html"], "there is no folder"),
        (["OUT/none.npz", "-o", "OUT/report.html"], "there is no prediction file"),
        (["PREDS", "-o", "OUT/report.html", "--ordinal", "--events", "x.toml"], "not both"),
        (
            ["PREDS", "-o", "OUT/report.html", "--events", "OUT/groups.toml"],
            "'ill' must be a list of classes",
        ),
        (["PREDS", "-o", "OUT/report.html", "--ood", "PREDS", "--ood", "PREDS"], "different names"),
    ],
)
def test_mistakes_are_said_in_a_sentence_and_nothing_is_written(
    args, words, preds, tmp_path
) -> None:
    (tmp_path / "groups.toml").write_text('ill = "mild"\n')
    result = run(
        "report", *(a.replace("PREDS", str(preds)).replace("OUT", str(tmp_path)) for a in args)
    )
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "report.html").exists()


def test_an_interrupted_report_leaves_nothing(preds, tmp_path) -> None:
    script = """
import os, signal, sys
# a background job of a shell starts without it
signal.signal(signal.SIGINT, signal.default_int_handler)
from labelwise.report import write
from labelwise.cli import main
render = write.render
def interrupted(*args):
    os.kill(os.getpid(), signal.SIGINT)
    return render(*args)
write.render = interrupted
main(sys.argv[1:], prog_name="labelwise")
"""
    out = tmp_path / "out"
    out.mkdir()
    args = [sys.executable, "-c", script, "report", str(preds), "-o", str(out / "report.html")]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130
    assert done.stderr.splitlines() == [
        "preds.npz: 4 members × 50 cases × 3 classes",
        "  labels 0, 1, 2 = none, mild, severe",
        "Interrupted.",
    ]
    assert list(out.iterdir()) == []


def test_decisions_go_through_a_pipe(preds, tmp_path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(
        'class_names = ["none", "mild", "severe"]\nmatrix = [[0, 1, 1], [2, 0, 1], [9, 3, 0]]\nask '
        "= 0.4\n"
    )
    result = run("decide", "-", "--costs", costs, "-o", "-", input=preds.read_bytes())
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith(
        "instance,y_true,most_probable,probability,action,expected_cost,value_of_label,value_of_knowledge,reason,p_none,"
    )
    assert len(lines) == 51


def test_a_table_for_each_model_is_one_command(tmp_path) -> None:
    rng = np.random.default_rng(0)
    names = ["none", "mild", "severe"]
    probs, y = rng.dirichlet(np.ones(3), (3, 20)), rng.integers(0, 3, 20)
    for k, member in enumerate(probs):
        rows = [f"case {i},{','.join(map(str, row))},{names[y[i]]}" for i, row in enumerate(member)]
        (tmp_path / f"model{k}.csv").write_text("\n".join([f"id,{','.join(names)},label", *rows]))
    files = [tmp_path / f"model{k}.csv" for k in range(3)]
    for given in (files, [tmp_path]):
        result = run("report", *given, "-o", tmp_path / "report.html")
        assert result.exit_code == 0, result.output
        assert "3 members × 20 cases × 3 classes" in result.output
        html = (tmp_path / "report.html").read_text()
        data = page_data(html)
        assert data["exact"]["accuracy"]["value"] == pytest.approx(
            (probs.mean(0).argmax(-1) == y).mean()
        )
        assert page_ids(html)[:2] == ["case 0", "case 1"]
        assert data["members"] == ["model0", "model1", "model2"]
    assert run("quantify", *files, "-o", tmp_path / "u.npz").exit_code == 0
    with np.load(tmp_path / "u.npz") as found:
        np.testing.assert_allclose(
            found["log_epistemic"], lw.decompose(lw.Ensemble(probs)).epistemic, atol=1e-12
        )
