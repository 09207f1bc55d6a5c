"""Calibrate samplers and predictions, and write docs/calibration.md.

``python calibration/run.py [--part PART ...] [--minutes M] [--jobs N] [--out FOLDER]``. Each part
writes its results into calibration/results; the report is written from all that are there.
`--minutes` scales the number of replicates: 15 is about a quarter of an hour on two cores without
the part `reliability`, which takes as long as it takes. Status 1 if any check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from calibration import coverage, geweke, mutations, reliability, report, sbc  # noqa: E402

PARTS = {
    "sbc": sbc.run,
    "geweke": geweke.run,
    "mutations": mutations.run,
    "coverage": coverage.run,
    "reliability": reliability.run,
}
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Run the parts asked for, write the report, return the status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - start:6.0f} s  {line}", flush=True)

    for part in options.part:
        results = PARTS[part](options.minutes / 15, options.jobs, say)
        (RESULTS / f"{part}.json").write_text(json.dumps(results))
    found = {
        part: json.loads((RESULTS / f"{part}.json").read_text())
        for part in PARTS
        if (RESULTS / f"{part}.json").exists()
    }
    report.write(found, options.out)
    failed = [part for part in options.part if not found[part]["passed"]]
    say(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
