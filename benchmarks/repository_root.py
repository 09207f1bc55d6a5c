"""Put the repository on Python's path: importing this makes ``reproduction`` importable."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(1, str(ROOT))
