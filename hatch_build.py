"""The README as package indexes show it: without links to files that are not there.

No public address of the repository is known, so a link to one of its files becomes its text, and
the picture is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LOCAL = r"\((?![a-z]+:)[^)]*\)"  # a target without a scheme


def without_local_links(text: str) -> str:
    """Replace what leads to files of the repository."""
    text = re.sub(rf"^!\[[^\]]*\]{LOCAL}\n\n", "", text, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]*)\]{LOCAL}", r"\1", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to what the package says of itself."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": without_local_links(text),
        }
