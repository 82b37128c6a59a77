"""A child process that must not outlive the one that started it."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Loaded here and not where it is used: between fork and exec nothing may be imported.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent_pid: int | None = None, death_signal: int = signal.SIGKILL) -> None:
    """Asks the kernel to send ``death_signal`` to this process when its parent ends, however it ends.

    ``parent_pid`` is the parent as it knew itself before the fork: one that was gone before we asked is noticed.  Only
    Linux knows this request; elsewhere a parent killed with -9 leaves its children running.
    """
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if parent_pid is not None and os.getppid() != parent_pid:
        os.kill(os.getpid(), death_signal)
