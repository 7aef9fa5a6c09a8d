"""A folder that only one process works in at a time."""

import fcntl
import logging
import os
import socket
from pathlib import Path

log = logging.getLogger("gped")


class Lock:
    """Held from `acquire` to `release`. The kernel frees the lock of a process that dies.

    Args:
        folder: Where the file `lock` is; made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waited = False  # for another process, which may have done the work
        self._file: int | None = None

    def acquire(self) -> None:
        """Wait until no other process holds it."""
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / "lock"
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(file, 200).decode(errors="replace") or "another process"
                log.warning("%s is at this already, in %s: waiting for it to end", owner, self.folder)
                self.waited = True
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                log.warning("%s cannot be locked (%s): see to it that no other process does the same", path, error)
            if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
                break
            os.close(file)  # the other process has removed the folder, and the lock with it
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        self._file = file

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
