"""Where an installed package keeps a model, and the tensors of a safetensors file, mapped and not copied.

The package itself is never imported: that may load torch, set up logging or look for a download.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import EmbedderError

_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}
_MAX_HEADER = 16 * 1024 * 1024


def package_files(package: str, files: tuple[str, ...], install: str) -> list[Path]:
    """The paths of `files` in the installed `package`. Raises EmbedderError, which says `install`, if not there."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        paths = [Path(folder, name) for name in files]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise EmbedderError(f"the installed {package} has no {missing[0]}; run: {install}")
        return paths
    raise EmbedderError(f"this embedder needs the package {package}; run: {install}")


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Every tensor of the file by name, read-only, as the file holds it. Raises EmbedderError for any other file.

    Source: https://github.com/huggingface/safetensors#format.
    """
    try:
        mapped = np.memmap(path, np.uint8, "r")
        size = int.from_bytes(mapped[:8].tobytes(), "little")
        if not 0 < size <= min(_MAX_HEADER, len(mapped) - 8):
            raise ValueError("header size")
        header = json.loads(mapped[8 : 8 + size].tobytes())
        tensors: dict[str, NDArray[Any]] = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in _TYPES:
                continue
            start, end = entry["data_offsets"]
            kind, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
            if start < 0 or 8 + size + end > len(mapped) or end - start != math.prod(shape) * kind.itemsize:
                raise ValueError("tensor size")
            tensors[name] = mapped[8 + size + start : 8 + size + end].view(kind).reshape(shape)
        return tensors
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise EmbedderError(f"{path.name} is not a whole safetensors file; install its package again") from None
