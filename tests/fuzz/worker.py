"""A process that reads damaged files, one after another, in bounded memory.

Lines on standard input are jobs, lines on standard output are outcomes, both JSON. A crash or a
hang takes only this process down.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import pickle
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .formats import Format, clean, parts, place
from .mutations import Tree, mutate

EXPECTED = (ValueError, TypeError, OSError)


def damaged(
    name: str, seed: int, index: int, formats: dict[str, Format], samples: dict[str, Tree]
) -> tuple[Tree, str]:
    """File number ``index`` of a run: the same seed gives the same bytes."""
    rng = np.random.default_rng([seed, index])
    tree, stays = parts(samples[name], formats[name])
    names = sorted(samples)
    other = tree if rng.random() < 0.5 else samples[names[rng.integers(len(names))]]
    spliced = (
        {key: list(other.values())[rng.integers(len(other))] for key in tree}
        if other is not tree and other
        else tree
    )
    changed, what = mutate(tree, spliced, rng)
    return stays | changed, what


def outcome(kind: Format, tree: Tree, work: Path) -> dict[str, Any]:
    """Read a sample: ``read``, ``refused``, or what went wrong and where."""
    folder = Path(tempfile.mkdtemp(dir=work))
    try:
        try:
            place(tree, folder)
        except (OSError, ValueError):
            return {"outcome": "read"}  # a damaged name: no such file can exist
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind.read(folder)
        except EXPECTED as error:
            if getattr(error, "errno", None) == errno.ENOMEM:
                return _failure(error, "memory")
            if str(error).strip():
                return {"outcome": "refused", "said": str(error)[:200]}
            return _failure(error, "no sentence")
        except MemoryError as error:
            return _failure(error, "memory")
        except Exception as error:
            return _failure(error, type(error).__name__)
        return {"outcome": "read"}
    finally:
        clean(folder)


def _failure(error: BaseException, what: str) -> dict[str, Any]:
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    own = [frame for frame in frames if f"{os.sep}labelwise{os.sep}" in frame.filename] or frames
    where = f"{Path(own[-1].filename).name}:{own[-1].name}" if own else "?"
    said = "".join(traceback.format_exception(error))
    return {
        "outcome": "failed",
        "what": what,
        "where": where,
        "said": str(error)[:300],
        "traceback": said[-6000:],
    }


def main() -> None:
    """Serve until standard input ends."""
    samples_file, module, seed, megabytes, current = (
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        int(sys.argv[4]),
        Path(sys.argv[5]),
    )
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is not an answer
    sys.stdout = sys.stderr
    formats: dict[str, Format] = importlib.import_module(module).FORMATS
    samples: dict[str, Tree] = pickle.loads(Path(samples_file).read_bytes())
    with tempfile.TemporaryDirectory(prefix="labelwise-fuzz-") as work:
        for (
            name,
            tree,
        ) in samples.items():  # imports and thread pools now: they do not count as a file's memory
            found = outcome(formats[name], tree, Path(work))
            if found["outcome"] != "read":
                answers.write(json.dumps({"ready": False, "format": name, **found}) + "\n")
                answers.flush()
                return
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = now + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        answers.write(json.dumps({"ready": True}) + "\n")
        answers.flush()
        for count, line in enumerate(sys.stdin):
            job = json.loads(line)
            if "tree" in job:
                tree, what = pickle.loads(Path(job["tree"]).read_bytes()), "replayed"
            else:
                tree, what = damaged(job["format"], seed, job["index"], formats, samples)
            current.write_bytes(
                pickle.dumps((tree, what))
            )  # what was being read when this process died
            answers.write(
                json.dumps({**outcome(formats[job["format"]], tree, Path(work)), "damage": what})
                + "\n"
            )
            answers.flush()
            if count % 200 == 199:
                gc.collect()


if __name__ == "__main__":
    main()
