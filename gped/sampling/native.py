"""Normal numbers from a small compiled kernel (native.c), four times as fast as torch's on one core.

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
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".c")
LANES = 16
# What lets loops become vectors. Not -ffast-math: such a library makes its whole process round denormals to zero.
MATHEMATICS = ["-fno-math-errno", "-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros"]


class NativeGenerator:
    """A source of normal numbers, with the methods of `torch.Generator` that a chain needs.

    Args:
        seed: Any text. Its hash is the state of sixteen generators.
    """

    def __init__(self, seed: str) -> None:
        self._library = _kernel()
        words = b"".join(hashlib.sha256(f"{seed}/{part}".encode()).digest() for part in range(4 * LANES * 4 // 32))
        self._state = np.frombuffer(words, np.uint32).reshape(4, LANES).copy()
        self._address = self._state.ctypes.data  # once, because numpy takes its time to tell

    def normal_(self, out: Tensor) -> Tensor:
        """Fill a tensor with independent standard normal numbers."""
        _check(out)
        self._library.gped_normal(self._address, out.data_ptr(), out.numel())
        return out

    def move_(self, value: Tensor, keep: float, slope: Tensor, rate: float, deviation: float) -> Tensor:
        """value ← keep · value + rate · slope + deviation · noise, in one pass."""
        _check(value)
        same_layout = slope.shape == value.shape and slope.stride() == value.stride()
        if not same_layout or slope.dtype != value.dtype or slope.device != value.device:
            slope = torch.empty_like(value).copy_(slope)
        self._library.gped_move(self._address, value.data_ptr(), slope.data_ptr(), value.numel(), keep, rate, deviation)
        return value

    def get_state(self) -> Tensor:
        """The state, for a checkpoint."""
        return torch.from_numpy(self._state.astype(np.int64))

    def set_state(self, state: Tensor) -> None:
        """Go on from a state."""
        self._state[:] = state.numpy()


def _check(out: Tensor) -> None:
    """The layouts that parameters have here: without gaps between the numbers."""
    dense = out.is_contiguous() or out.is_contiguous(memory_format=torch.channels_last)
    if out.dtype != torch.float32 or out.device.type != "cpu" or not dense:
        raise ValueError(
            f"noise='native' is for float32 on the CPU without gaps in memory, not for {out.dtype} on {out.device} "
            f"with strides {out.stride()}. Use noise='torch'."
        )


@functools.cache
def _kernel() -> ctypes.CDLL:
    """The compiled functions. Compiled anew by every process, in half a second: a cached one could be a stranger's."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise RuntimeError("noise='native' needs a C compiler, and there is no cc, gcc or clang. Use noise='torch'.")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "native.so"
        command = [
            compiler,
            "-O3",
            *MATHEMATICS,
            *_vector_units(),
            "-shared",
            "-fPIC",
            str(SOURCE),
            "-o",
            str(library),
            "-lm",
        ]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{SOURCE} could not be compiled: {result.stderr.strip()[-500:]}. Use noise='torch'.")
        kernel = ctypes.CDLL(str(library))
    kernel.gped_normal.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64]
    kernel.gped_move.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] + [ctypes.c_float] * 3
    kernel.gped_normal.restype = kernel.gped_move.restype = None
    return kernel


def _vector_units() -> list[str]:
    """AVX2 where there is one, which is on any server of the last ten years."""
    information = Path("/proc/cpuinfo")
    known = platform.machine() == "x86_64" and information.exists() and " avx2 " in information.read_text()
    return ["-mavx2", "-mfma"] if known else []
