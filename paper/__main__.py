"""Write the report of a store of the paper's studies: ``python -m paper --store S --out DIR``."""

from __future__ import annotations

import argparse
from pathlib import Path

from paper.report import report_store


def main() -> None:
    """Read the command line, write the files and print their names."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    for path in report_store(options.store, options.out, options.title):
        print(path)


if __name__ == "__main__":
    main()
