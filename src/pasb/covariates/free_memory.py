"""How much memory a table may take.

The limit is half of what is free: of the machine, of its control group, and of the limit of
the process (``ulimit -v``). The environment variable ``PASB_MEMORY`` sets another one, in GiB.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

GIB = 2**30
VARIABLE = "PASB_MEMORY"
_GROUPS = (  # files of control groups, version 2 and 1: limit and use
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def memory_limit() -> int:
    """Bytes that one table may take."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return free_bytes() // 2
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 2**30:
        raise ValueError(f"{VARIABLE} must be a number of GiB, such as 4 or 0.5; it is {text!r}")
    return int(limit * GIB)


def free_bytes() -> int:
    """Bytes that this process can still get."""
    free = [_of_machine(), _of_process()]
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):
            free.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
    return max(0, min(free))


def in_words(n_bytes: float) -> str:
    """Bytes as people read them.

    Examples
    --------
    >>> in_words(3 * 2**30), in_words(2**20)
    ('3.0 GiB', '1.0 MiB')
    """
    return f"{n_bytes / GIB:,.1f} GiB" if n_bytes >= GIB / 2 else f"{n_bytes / 2**20:,.1f} MiB"


def _of_machine() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 2**62


def _of_process() -> int:
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource  # only on Unix

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0])
            return limit - used * os.sysconf("SC_PAGE_SIZE")
    return 2**62
