"""What compiling the kernels takes, from an empty cache, and where the time goes.

    python benchmarks/compilation.py            # all models, in one process and in two
    python benchmarks/compilation.py logistic   # one of them

Times of the parts are processor times of the compiling thread, by timers around Numba's own stages.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

import pasb
from pasb.precompile import MODELS

STAGES = """
import json, sys, time
from collections import Counter
from numba.core import codegen

spent = Counter()

def timed(kind, name, stage):
    method = getattr(kind, name)
    def wrapped(*args, **kwargs):
        began = time.thread_time()
        try:
            return method(*args, **kwargs)
        finally:
            spent[stage] += time.thread_time() - began
    setattr(kind, name, wrapped)

timed(codegen.CPUCodeLibrary, "_optimize_final_module", "optimisation by LLVM")
timed(codegen.CPUCodeLibrary, "_optimize_functions", "optimisation by LLVM")
timed(codegen.JITCodeLibrary, "_finalize_specific", "machine code by LLVM")
import pasb
from pasb import precompile
from pasb.sampling.compilation import compilation
began = time.process_time()
precompile.precompile(sys.argv[1:], n_processes=1)
whole = time.process_time() - began
spent["types and lowering, by Numba in Python"] = whole - sum(spent.values())
print(json.dumps({"whole": whole, "functions": compilation.n_functions, **spent}))
"""


def run(arguments: list[str]) -> tuple[str, float]:
    """Run Python with an empty cache; its output, and the seconds it took.

    The package is copied, for code that is kept beside it would be read whatever the cache holds.
    """
    with tempfile.TemporaryDirectory() as folder:
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(pasb.__file__).parent, Path(folder, "pasb"), ignore=leave)
        paths = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        unset = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        began = monotonic()
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**unset, "PYTHONPATH": paths},
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout, monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS, help=f"some of {', '.join(MODELS)}")
    models = parser.parse_args().models
    found = json.loads(run(["-c", STAGES, *models])[0].splitlines()[-1])
    n_functions, whole = found.pop("functions"), found.pop("whole")
    print(f"{', '.join(models)}: {n_functions} functions, {whole:.1f} s of processor time")
    for stage, seconds in sorted(found.items(), key=lambda item: -item[1]):
        print(f"  {seconds:6.1f} s  {seconds / whole:4.0%}  {stage}")
    for jobs in ("1", "2"):
        seconds = run(["-m", "pasb.precompile", *models, "--jobs", jobs])[1]
        print(f"python -m pasb.precompile --jobs {jobs}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
