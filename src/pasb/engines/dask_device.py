"""Answers of parts on a Dask cluster, from the GPU of the worker that has the part.

`dask_cuda.LocalCUDACluster` starts one worker for each GPU and shows each of them its own. A part
stays on the GPU as long as its worker has it, while there is room, and is copied to it in every
pass where there is none. Answers are added up on processors, in the tree of all engines: they are
the bits of one GPU of the same kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any

from pasb.binary.row_requests import Answer, Stacked
from pasb.covariates.parts import Part
from pasb.engines.cuda_sums import SHARE, DevicePart, answered_there, bytes_of, on_device
from pasb.engines.device import array_module, available, free_bytes, to_host
from pasb.errors import EngineError


class Kept:
    """The parts of this process that are on its GPU, by the identity of what holds them."""

    def __init__(self) -> None:
        self.parts: dict[int, tuple[DevicePart, int]] = {}
        self.lock = Lock()

    def there(self, holder: Any, load: Callable[[Any], Part]) -> DevicePart:
        """The part of a holder, on the GPU."""
        with self.lock:
            if id(holder) in self.parts:
                return self.parts[id(holder)][0]
            xp, part = array_module(), load(holder)
            size, used = bytes_of(part), sum(own for _, own in self.parts.values())
            fits = used + size <= SHARE * (free_bytes(xp) + used)
            made = on_device(xp, part)
            if fits:
                self.parts[id(holder)] = made, size
                weakref.finalize(holder, self.parts.pop, id(holder), None)
            return made


kept = Kept()


def answer_there(
    holder: Any, load: Callable[[Any], Part], task: tuple[list[Stacked], tuple[Any, ...]]
) -> list[Answer]:
    """The share of a part in the answers; `load` brings it into memory."""
    asked, link = task
    xp = array_module()
    part = kept.there(holder, load)
    moved = [one._replace(roles=xp.asarray(one.roles), coef=xp.asarray(one.coef)) for one in asked]
    answers = answered_there(xp, part, (*link[:2], xp.array(link[2])), moved)
    return [Answer(*map(to_host, one)) for one in answers]


def check_workers(client: Any) -> None:
    """Refuse a cluster with workers that have no GPU."""
    found = client.run(available)
    lacking = sum(not one for one in found.values())
    if lacking:
        raise EngineError(
            f"device='cuda': {lacking} of {len(found)} workers of the Dask cluster have no usable "
            "NVIDIA GPU, or no CuPy and numba-cuda (pip install 'pasb[cuda]' there): start workers "
            "with dask_cuda.LocalCUDACluster, or leave out device"
        )
