"""Around every place where a file of the user's is read: whatever a damaged file makes a library raise names the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error of the block into one that names the file ``path``.

    Raises
    ------
    ValueError
        Instead of anything that is not one of the following: the file is damaged, or not in the format that its name says.
    ValueError, TypeError, OSError, ImportError, MemoryError
        As they came, with the file's name before them if they do not name it.
    """
    name = Path(path).name
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except OSError as error:
        if error.filename is not None or name in str(error):
            raise
        raise OSError(f"{name}: {error}") from error
    except (ValueError, TypeError) as error:
        if name in str(error):
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{name}: {error}") from error
    except Exception as error:
        if isinstance(error, RecursionError):
            raise ValueError(f"{name} is damaged: it is nested too deeply") from error
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ValueError(f"{name} is damaged, or not in the format that its name says ({why})") from error
