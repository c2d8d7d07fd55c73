"""Add names of another project to those that the documentation can link to.

    python tools/inventories.py sklearn OBJECTS.INV sklearn.svm.SVC ...

OBJECTS.INV is the file objects.inv of the other project's documentation, for example from a package
of a Linux distribution. The lines of the names are added to docs/inventories/sklearn.txt, whose
first line is the address of the site. So the documentation is built without the network.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "docs" / "inventories"
HEADER_LINES = 4


def inventory_lines(path: Path) -> dict[str, str]:
    """The line of each name in a file objects.inv, without its title."""
    *_, compressed = path.read_bytes().split(b"\n", HEADER_LINES)
    found = {}
    for line in zlib.decompress(compressed).decode().splitlines():
        name, kind, priority, address, *_ = line.split(" ")
        if kind.startswith("py:"):
            found.setdefault(name, f"{name} {kind} {priority} {address} -")
    return found


def main() -> int:
    """Add the names of the command line; the exit code is 1 if one of them is unknown."""
    target, source, *names = sys.argv[1:]
    known = inventory_lines(Path(source))
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"{source} does not have: {', '.join(unknown)}.")
        return 1
    path = FOLDER / f"{target}.txt"
    address, *lines = path.read_text("utf-8").splitlines()
    lines = sorted({*lines, *(known[name] for name in names)})
    path.write_text("\n".join([address, *lines, ""]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
