"""NumPy's .npy and .npz files, without pickle: the header is checked before any memory is taken."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ._limits import Readable, check_memory, human, read_array, refuse

MAX_HEADER = 10_000


def read_npy(path: str | Path) -> np.ndarray:
    """Read a .npy file of numbers; files with pickled Python objects are refused."""
    path = Path(path)
    length = path.stat().st_size
    with path.open("rb") as file:
        return _read(file, path, length, str(path))


def read_npz(path: str | Path, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Read the arrays ``keys`` of a .npz file; the others are not touched.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.npz")
    ...     np.savez_compressed(path, labels=np.arange(3), other=np.zeros(5))
    ...     lw.datasets.read_npz(path, ["labels"])
    {'labels': array([0, 1, 2])}
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            missing = [key for key in keys if key not in members]
            if missing:
                raise refuse(path, f"no array {missing[0]!r}; the file holds {', '.join(map(repr, sorted(members)[:10])) or 'nothing'}")
            arrays = {}
            for key in keys:
                with archive.open(members[key]) as file:
                    arrays[key] = _read(file, path, members[key].file_size, f"{path} ({key})")
            return arrays
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise refuse(path, f"not a whole .npz file ({error}); get it again") from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression; an encrypted member
        raise refuse(path, f"this kind of .npz file is not read ({error})") from error


def _read(stream: Readable, path: Path, length: int, label: str) -> np.ndarray:
    """One array; ``length`` is what the file or the archive says about its size, header included."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != b"\x93NUMPY" or start[6] not in (1, 2):
        raise refuse(label, "not a NumPy array file (.npy, format 1 or 2)")
    size = stream.read(2 if start[6] == 1 else 4)
    n = int.from_bytes(size, "little")
    if n > MAX_HEADER:
        raise refuse(label, f"its header claims a length of {human(n)}; at most {human(MAX_HEADER)} are read")
    header = stream.read(n)
    parse = np.lib.format.read_array_header_1_0 if start[6] == 1 else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = parse(io.BytesIO(size + header))
    except Exception as error:  # NumPy's parser and Python's, on garbage, raise many things
        raise refuse(label, "its header cannot be read; the file is corrupted") from error
    if dtype.hasobject:
        raise refuse(label, "it holds pickled Python objects, which could run code when read; they are never loaded")
    if dtype.kind not in "biuf":
        raise refuse(label, f"it holds {dtype} instead of numbers")
    nbytes = check_memory(path, shape, dtype.itemsize)
    if length != 8 + len(size) + n + nbytes:
        raise refuse(
            label, f"its header promises {human(nbytes)} (shape {shape}, {dtype}), but {human(max(0, length - 8 - len(size) - n))} follow"
        )
    array = read_array(stream, shape[::-1] if fortran else shape, dtype, label)
    if stream.read(1):
        raise refuse(label, "there are more data than its header promises")
    return array.T if fortran else array
