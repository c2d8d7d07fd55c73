"""Make the pictures of docs/table.md and docs/results: `python docs/screenshots.py`.

Runs the commands of docs/table.md on the table of examples/untidy.py, and takes screenshots of the
terminal and of the HTML pages in headless Chromium. Needs raremetric[browser].
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
WIDTH = 88
CALL = [sys.executable, "-c", "from raremetric.cli import app; app(prog_name='raremetric')"]
TERMINALS = {
    "table-compare": "compare abalone.csv --target age --ignore shell",
    "table-fit": "fit abalone.csv --target age --id shell --model iml -o model.skops",
    "table-explain": "explain model.skops new.csv --row 1 --plot why.png",
}
REVIEW = "review rare.skops new.csv --top 10 -o review.html"


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        subprocess.run([sys.executable, HERE.parent / "examples/untidy.py"], cwd=folder, check=True)
        lines = (folder / "abalone.csv").read_text().splitlines()
        # The last rows are the new data: the model is not fitted on them.
        (folder / "new.csv").write_text("\n".join([lines[0], *lines[-30:]]))
        for picture, command in TERMINALS.items():
            if command.startswith("fit"):
                (folder / "abalone.csv").write_text("\n".join(lines[:-30]))
            svg = folder / f"{picture}.svg"
            svg.write_text(terminal(command, folder))
            take_screenshot(browser, svg, HERE / "images" / f"{picture}.png", is_svg=True)
        fit = "fit abalone.csv --target age --id shell -o rare.skops"
        for command in (fit, REVIEW):
            subprocess.run([*CALL, *command.split()], cwd=folder, check=True)
        review = folder / "review.html"
        take_screenshot(browser, review, HERE / "images" / "table-review.png", full_page=False)
        page = folder / "comparison.html"
        take_screenshot(browser, page, HERE / "images" / "table-page.png")
        shutil.copy(folder / "why.png", HERE / "images" / "table-why.png")
        browser.close()


def terminal(command: str, folder: Path) -> str:
    """The output of a command in a terminal, as SVG."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [*CALL, *command.split()], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    )
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(f"$ raremetric {command}", highlight=False)
    console.print(Text.from_ansi(done.stdout.decode()))
    return console.export_svg(title="raremetric", theme=MONOKAI)


def take_screenshot(
    browser, path: Path, out: Path, is_svg: bool = False, full_page: bool = True
) -> None:
    """Write a PNG of an HTML page or an SVG file."""
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    if is_svg:
        page.set_content(f"<body style='margin:0'>{path.read_text()}</body>")
        page.locator("svg").first.screenshot(path=out)
    else:
        page.goto(path.as_uri())
        page.screenshot(path=out, full_page=full_page)
    page.close()


if __name__ == "__main__":
    main()
