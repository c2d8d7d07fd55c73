"""Take the pictures of the HTML pages of the commands: `python docs/screenshots.py`.

Runs the commands of docs/table on the table of examples/untidy.py. Needs Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CALL = [sys.executable, "-c", "from raremetric.cli import app; app(prog_name='raremetric')"]
COMMANDS = (
    "compare abalone.csv --target age --ignore shell -o comparison.html",
    "fit abalone.csv --target age --id shell -o model.skops",
    "review model.skops new.csv --top 10 -o review.html",
)
PICTURES = {"comparison.html": ("table-page.png", 1500), "review.html": ("table-review.png", 800)}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, HERE.parent / "examples/untidy.py"], cwd=folder, check=True)
        lines = (folder / "abalone.csv").read_text().splitlines()
        # The last rows are the new data: the model is not fitted on them.
        (folder / "abalone.csv").write_text("\n".join(lines[:-30]))
        (folder / "new.csv").write_text("\n".join([lines[0], *lines[-30:]]))
        for command in COMMANDS:
            subprocess.run([*CALL, *command.split()], cwd=folder, check=True)
        for page, (picture, height) in PICTURES.items():
            take_screenshot(folder / page, HERE / "images" / picture, height)


def take_screenshot(page: Path, out: Path, height: int) -> None:
    """Write a PNG of an HTML page, 1000 pixels wide."""
    chromium = shutil.which("chromium") or "chromium"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
    size = (f"--window-size=1000,{height}", "--hide-scrollbars", f"--screenshot={out}")
    subprocess.run([chromium, *options, *size, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
