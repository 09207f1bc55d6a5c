"""The README and the links of the package, as package indexes show them.

The environment variable PASB_ADDRESS names the public address of the repository when a release is
built. From it follow the links of the package and those of the README to files of the repository.
Without it there are no links, and a link of the README to a file becomes its text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "PASB_ADDRESS"
LOCAL = r"\((?P<target>(?![a-z]+:)[^)]*)\)"  # a target without a scheme


def address_of(given: str) -> str:
    """The address without a slash at its end, or nothing."""
    address = given.strip().rstrip("/")
    if address and not re.fullmatch(r"https://[^\s/]+(/[^\s?#]+)+", address):
        raise ValueError(
            f"{VARIABLE} must be the https address of the repository, without a query; got "
            f"{given!r}"
        )
    return address


def links(address: str) -> dict[str, str]:
    """The links of the package; none without an address."""
    if not address:
        return {}
    return {
        "Source": address,
        "Documentation": f"{address}/tree/HEAD/docs",
        "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def with_links(text: str, address: str) -> str:
    """Make links to files of the repository absolute; without an address, take them out."""
    picture = rf"!\[(?P<text>[^\]]*)\]{LOCAL}"
    link = rf"(?<!!)\[(?P<text>[^\]]*)\]{LOCAL}"
    if not address:
        text = re.sub(rf"^{picture}\n\n", "", text, flags=re.MULTILINE)
        return re.sub(link, r"\g<text>", text)

    def absolute(found: re.Match[str]) -> str:
        target = found["target"]
        page = address + target if target.startswith("#") else f"{address}/blob/HEAD/{target}"
        return f"[{found['text']}]({page})"

    text = re.sub(picture, rf"![\g<text>]({address}/raw/HEAD/\g<target>)", text)
    return re.sub(link, absolute, text)


class IndexHook(MetadataHookInterface):
    """Sets the long description and the links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what follows from the README and the address."""
        address = address_of(os.environ.get(VARIABLE, ""))
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["urls"] = links(address)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_links(text, address),
        }
