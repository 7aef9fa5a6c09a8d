"""Normal numbers from a small compiled kernel (native.c), three and a half times as fast as torch's on one core.

An option, because it needs a C compiler and its numbers are other than torch's. Given a seed they are the same in every
run on the same kind of machine.
"""

import ctypes
import functools
import hashlib
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".c")
LANES = 16


class NativeGenerator:
    """A source of normal numbers, with the methods of `torch.Generator` that a chain needs.

    Args:
        seed: Any text. Its hash is the state of sixteen generators.
    """

    def __init__(self, seed: str) -> None:
        self._fill = _kernel()
        words = b"".join(hashlib.sha256(f"{seed}/{part}".encode()).digest() for part in range(4 * LANES * 4 // 32))
        self._state = np.frombuffer(words, np.uint32).reshape(4, LANES).copy()

    def normal_(self, out: Tensor) -> Tensor:
        """Fill a tensor with independent standard normal numbers."""
        if out.dtype != torch.float32 or out.device.type != "cpu" or not out.is_contiguous():
            raise ValueError(
                f"noise='native' is for contiguous float32 on the CPU, not for {out.dtype} on {out.device}. Use "
                "noise='torch'."
            )
        self._fill(self._state.ctypes.data, out.data_ptr(), out.numel())
        return out

    def get_state(self) -> Tensor:
        """The state, for a checkpoint."""
        return torch.from_numpy(self._state.astype(np.int64))

    def set_state(self, state: Tensor) -> None:
        """Go on from a state."""
        self._state[:] = state.numpy()


@functools.cache
def _kernel() -> Callable[[int, int, int], None]:
    """The compiled function. Compiled anew by every process, in half a second: a cached one could be a stranger's."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise RuntimeError("noise='native' needs a C compiler, and there is no cc, gcc or clang. Use noise='torch'.")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "native.so"
        options = ["-O3", "-ffast-math", *_vector_units(), "-shared", "-fPIC"]
        command = [compiler, *options, str(SOURCE), "-o", str(library), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{SOURCE} could not be compiled: {result.stderr.strip()[-500:]}. Use noise='torch'.")
        fill = ctypes.CDLL(str(library)).gped_normal
    fill.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    fill.restype = None
    return fill


def _vector_units() -> list[str]:
    """AVX2 where there is one, which is on any server of the last ten years."""
    information = Path("/proc/cpuinfo")
    known = platform.machine() == "x86_64" and information.exists() and " avx2 " in information.read_text()
    return ["-mavx2", "-mfma"] if known else []
