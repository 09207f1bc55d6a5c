"""How rows that are not held in memory are kept, and who adds them up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pasb.engines.device import array_module
from pasb.engines.workshop import LocalWorkshop, Workshop
from pasb.errors import EngineError

STORAGES = ("float64", "float32")
DEVICES = ("cpu", "cuda")
ENGINES = ("cpu", "cuda", "blocks", "dask")
WORDS = "'cpu', 'cuda', 'blocks', 'dask', a distributed.Client or a pasb.RowBlocks"


@dataclass(frozen=True)
class RowBlocks:
    """Rows in blocks: in memory, in files, on a GPU, or on the workers of a Dask cluster.

    As `engine` of a classifier it says more than the names "blocks", "cuda" and "dask".

    Parameters
    ----------
    storage : {"float64", "float32"}, default="float64"
        In which covariates are kept, once they are scaled. "float32" takes half the room and rounds
        every covariate to 7 digits; all sums are in float64.
    folder : path, optional
        Keep the blocks in files there, even if they would fit into memory.
    client : distributed.Client, optional
        Keep them on the workers of this cluster.
    device : {"cpu", "cuda"}, default="cpu"
        Where sums over rows are taken; "cuda" is an NVIDIA GPU of this machine, with `client` that
        of each worker. Blocks that its memory has no room for are copied to it in every pass.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import RowBlocks, StickLogisticClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = (X[:, 0] + rng.logistic(size=600) > 0).astype(int)
    >>> model = StickLogisticClassifier(
    ...     engine=RowBlocks(storage="float32"), n_warmup=32, n_draws=200, random_state=0
    ... )
    >>> model.fit(X, y).predict_proba([[0.0, 0.0]]).round(1)
    array([[0.5, 0.5]])
    """

    storage: str = "float64"
    folder: str | Path | None = None
    client: Any = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.storage not in STORAGES:
            raise ValueError(f"storage must be one of {STORAGES}, not {self.storage!r}")
        if self.device not in DEVICES:
            raise ValueError(f"device must be one of {DEVICES}, not {self.device!r}")
        if self.folder is not None and self.client is not None:
            raise ValueError("folder and client do not go together: workers keep their own blocks")

    def __deepcopy__(self, memo: dict) -> RowBlocks:
        return self  # it cannot change, and a client cannot be copied

    def __reduce__(self) -> tuple[Any, ...]:
        # A client stays with its process.
        return RowBlocks, (self.storage, self.folder, None, self.device)

    @classmethod
    def of(cls, engine: Any) -> RowBlocks:
        """From what a classifier has as `engine`."""
        if isinstance(engine, cls):
            return engine
        if isinstance(engine, str) and engine not in ENGINES:
            raise ValueError(f"engine must be {WORDS}; got {engine!r}")
        if not isinstance(engine, str) and not hasattr(engine, "submit"):
            raise ValueError(f"engine must be {WORDS}; got {type(engine).__name__}")
        if engine == "dask":
            return cls(client=current_client())
        if engine == "cuda":
            return cls(device="cuda")
        return cls() if isinstance(engine, str) else cls(client=engine)

    def workshop(self, n_jobs: int) -> Workshop:
        """Who makes blocks of a table."""
        if self.device == "cuda" and self.client is None:
            from pasb.engines.cuda_sums import CudaSums

            array_module()  # complains where there is no GPU
            return LocalWorkshop(n_jobs, self.folder, CudaSums)
        if self.client is None:
            return LocalWorkshop(n_jobs, self.folder)
        from pasb.engines.dask_sums import DaskWorkshop

        return DaskWorkshop(self.client, self.device)


def current_client() -> Any:
    """The client of the cluster that this process is connected to."""
    try:
        from distributed import default_client
    except ImportError as error:
        raise EngineError(
            "engine='dask' needs Dask: pip install 'pasb[dask]', or use engine='blocks'"
        ) from error
    try:
        return default_client()
    except ValueError:
        raise EngineError(
            "engine='dask' found no cluster: connect to one first, with "
            "dask.distributed.Client(...), or pass the client as engine"
        ) from None
