"""NumPy's .npy and .npz files, without pickle: the header is checked before any memory is taken."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..io.files import open_regular
from ..io.npz import Readable, check_unpacked, members, read_header
from ._limits import check_memory, human, read_array, refuse


def read_npy(path: str | Path) -> np.ndarray:
    """Read a .npy file of numbers; files with pickled Python objects are refused."""
    path = Path(path)
    length = path.stat().st_size
    with open_regular(path) as file:
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
        with open_regular(path) as raw, zipfile.ZipFile(raw) as archive:
            found = members(archive, str(path))
            missing = [key for key in keys if key not in found]
            if missing:
                raise refuse(path, f"no array {missing[0]!r}; the file holds {', '.join(map(repr, sorted(found)[:10])) or 'nothing'}")
            check_unpacked([found[key] for key in keys], path.stat().st_size, str(path))
            arrays = {}
            for key in keys:
                with archive.open(found[key]) as file:
                    arrays[key] = _read(file, path, found[key].file_size, f"{path} ({key})")
            return arrays
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OverflowError) as error:
        raise refuse(path, f"not a whole .npz file ({error}); get it again") from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression; an encrypted member
        raise refuse(path, f"this kind of .npz file is not read ({error})") from error


def _read(stream: Readable, path: Path, length: int, label: str) -> np.ndarray:
    """One array; ``length`` is what the file or the archive says about its size, header included."""
    counted = _Counted(stream)
    shape, fortran, dtype = read_header(counted, label)
    if dtype.hasobject:
        raise refuse(label, "it holds pickled Python objects, which could run code when read; they are never loaded")
    if dtype.kind not in "biuf":
        raise refuse(label, f"it holds {dtype} instead of numbers")
    nbytes, there = check_memory(path, shape, dtype.itemsize), max(0, length - counted.n)
    if nbytes != there:
        raise refuse(label, f"its header promises {human(nbytes)} (shape {shape}, {dtype}), but {human(there)} follow")
    array = read_array(stream, shape[::-1] if fortran else shape, dtype, label)
    if stream.read(1):
        raise refuse(label, "there are more data than its header promises")
    return array.T if fortran else array


class _Counted:
    """A stream that knows how much was read of it."""

    def __init__(self, stream: Readable) -> None:
        self.stream, self.n = stream, 0

    def read(self, n: int, /) -> bytes:
        data = self.stream.read(n)
        self.n += len(data)
        return data
