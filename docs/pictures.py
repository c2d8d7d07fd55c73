"""Draw the logo, the icon, and the picture of the first page: `python docs/pictures.py`.

The bars are computed from the committed results; a test compares the files with them.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from docs._ext.site_numbers import BOOSTING, PLAIN, RARE, SVM, found_and_alarms  # noqa: E402

METHODS = {
    PLAIN: "three nearest neighbors",
    BOOSTING: "XGBoost, tuned",
    SVM: "support vector machine, tuned",
    RARE: "raremetric: RareClassifier",
}
THEMES = {
    "light": {"text": "#1f2937", "line": "#c3c9d0", "found": "#0f766e",
              "alarm": "#c2410c", "dot": "#9aa3ad"},
    "dark": {"text": "#e5e7eb", "line": "#4b5563", "found": "#2dd4bf",
             "alarm": "#fb923c", "dot": "#7d8793"},
}  # fmt: skip
LEFT, SCALE, ROW = 4, 3.6, 78


def found_picture(theme: str) -> str:
    """Bars of what each method finds and misses, and of its false alarms."""
    c, means = THEMES[theme], found_and_alarms()
    width, height = 470, 36 + ROW * len(METHODS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="15" fill="{c["text"]}" '
        'role="img" aria-label="Of 100 rare rows, found and missed, and false alarms">',
        f'<text x="{LEFT}" y="20">Of 100 rare rows, '
        f'<tspan fill="{c["found"]}" font-weight="bold">found</tspan> and missed, and the '
        f'<tspan fill="{c["alarm"]}" font-weight="bold">false alarms</tspan>:</text>',
    ]
    for i, (name, title) in enumerate(METHODS.items()):
        y = 58 + ROW * i
        found, alarms = means.loc[name, "found"], means.loc[name, "alarms"]
        weight = "bold" if name == RARE else "normal"
        parts += [
            f'<text x="{LEFT}" y="{y - 6}" font-weight="{weight}">{title}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{100 * SCALE:.0f}" height="22" rx="3" fill="none" '
            f'stroke="{c["line"]}"/>',
            f'<rect x="{LEFT}" y="{y}" width="{found * SCALE:.1f}" height="22" rx="3" '
            f'fill="{c["found"]}"/>',
            f'<text x="{LEFT + 100 * SCALE + 10:.0f}" y="{y + 17}" fill="{c["found"]}" '
            f'font-weight="bold">{found:.0f} found</text>',
            f'<rect x="{LEFT}" y="{y + 27}" width="{alarms * SCALE:.1f}" height="13" rx="3" '
            f'fill="{c["alarm"]}"/>',
            f'<text x="{LEFT + alarms * SCALE + 8:.0f}" y="{y + 39}" font-size="14" '
            f'fill="{c["alarm"]}">{alarms:.0f} false alarms</text>',
        ]
    return "\n".join([*parts, "</svg>\n"])


def logo(theme: str) -> str:
    """Two rare points that a learned distance has brought together, among common ones."""
    c = THEMES[theme]
    common = [(7, 9), (24, 5), (33, 17), (30, 33), (14, 34), (5, 24)]
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{c["dot"]}"/>' for x, y in common)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" role="img" '
        f'aria-label="raremetric">{dots}<path d="M15 22 L24 18" stroke="{c["alarm"]}" '
        f'stroke-width="2.5"/><circle cx="15" cy="22" r="4.5" fill="{c["alarm"]}"/>'
        f'<circle cx="24" cy="18" r="4.5" fill="{c["alarm"]}"/></svg>\n'
    )


def pictures() -> dict[str, str]:
    """The text of each file, by its path in the folder docs."""
    files = {"_static/favicon.svg": logo("light")}
    for theme in THEMES:
        files[f"_static/logo-{theme}.svg"] = logo(theme)
        files[f"images/found-{theme}.svg"] = found_picture(theme)
    return files


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / name).write_text(text, encoding="utf-8")
