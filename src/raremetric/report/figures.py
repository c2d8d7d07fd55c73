"""The figures of a study, in the paper's layout: each as SVG and PNG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any

from raremetric.extras import import_optional
from raremetric.report.ranks import Comparison
from raremetric.report.summarize import Table, slug
from raremetric.report.tables import share_cell, splits_text

INK = "#161616"  # of text and axes; the page puts its own colour in its place
PREFERRED = "spectfheart"  # the data set of the paper's figure

# Readable on white and on a dark page.
STYLES = {
    "Euclidean": ("#8a8a8a", "s"),
    "LMNN": ("#3b82c4", "^"),
    "ITML": ("#c9930a", "v"),
    "GMML": ("#17a077", "D"),
    "IML": ("#d9541e", "o"),
    "ML1": ("#17a077", "D"),
    "ML2": ("#3b82c4", "^"),
    "RareClassifier-fast": ("#e0709a", "*"),
    "RareClassifier-thorough": ("#c2255c", "*"),
}
# For other learners, each in turn: 35 pairs before one comes again.
COLORS = ("#b0609c", "#6f78d6", "#7f9a2b", "#a8705a", "#2a9db0")
MARKERS = ("P", "X", "*", "h", "p", "<", ">")
LONGEST_NAME = 32


@dataclass(frozen=True)
class Figure:
    """A figure, drawn.

    Parameters
    ----------
    name : str
        The file it goes to, without ending.
    caption : str
    svg, png : bytes
        On white.
    inline : str
        SVG for a page: no background, in the colour of the page's text.
    """

    name: str
    caption: str
    svg: bytes
    png: bytes
    inline: str


def table_figures(table: Table, comparison: Comparison | None) -> list[Figure]:
    """The figures that belong to a table: curves over shares, or a critical-difference diagram."""
    if table.by_share:
        figures = [draw_means(table)]
        return figures if table.name.startswith("ablation") else [draw_dataset(table), *figures]
    return [draw_ranks(table, comparison)] if comparison else []


def draw_dataset(table: Table, dataset: str | None = None) -> Figure:
    """Accuracy and F1 against the share of the minority, for one data set.

    Parameters
    ----------
    table : Table
        With shares.
    dataset : str or None, default=None
        None for spectfheart, or the first where it is absent.
    """
    if dataset is None:
        dataset = PREFERRED if PREFERRED in table.datasets else table.datasets[0]
    cells = table.cells[table.cells["dataset"] == dataset]
    shares = sorted(cells["share"].unique(), reverse=True)
    splits = splits_text(cells["n_splits"])
    with drawing((9.0, 3.8), n_axes=2) as (figure, axes):
        for ax, column, label in zip(
            axes, ("accuracy_mean", "mean"), ("Accuracy (%)", "F1 (%)"), strict=True
        ):
            wide = cells.pivot(index="share", columns="learner", values=column)
            _draw_curves(ax, wide.reindex(index=shares, columns=table.learners))
            ax.set_xticks(range(len(shares)), [share_cell(share).text for share in shares])
            ax.set_ylabel(label)
        add_legend(figure, axes[0], table.learners)
        title = f"{dataset}; splits: {splits}"
        figure.suptitle(title, parse_math=False, fontsize=11)
        caption = f"Accuracy and F1 on {dataset} as the minority shrinks. {_splits(splits)}"
        return save(figure, f"{table.name}-{slug(dataset)}", caption)


def draw_means(table: Table) -> Figure:
    """Mean F1 against the share, over the data sets that all learners have at that share."""
    means = {share: table.complete(share=share) for share in table.shares}
    splits = splits_text(table.shared["n_splits"])
    wide = (
        import_optional("pandas").DataFrame({share: part.mean() for share, part in means.items()}).T
    )
    with drawing((8.0, 4.2), n_axes=1) as (figure, axes):
        ax = axes[0]
        _draw_curves(ax, wide)
        labels = [f"{share_cell(share).text}\n({len(part)})" for share, part in means.items()]
        ax.set_xticks(range(len(labels)), labels)
        ax.set_xlabel("Share of the minority (number of data sets)")
        ax.set_ylabel("Mean F1 (%)")
        add_legend(figure, ax, table.learners)
        figure.suptitle(f"Mean over the data sets; splits: {splits}", parse_math=False, fontsize=11)
        caption = (
            "Mean F1 over the data sets as the minority shrinks; in brackets the number of data "
            f"sets that exist at that share. {_splits(splits)}"
        )
        return save(figure, f"{table.name}-mean", caption)


def draw_ranks(table: Table, comparison: Comparison) -> Figure:
    """Critical-difference diagram: learners under one bar are not told apart by Nemenyi's test."""
    posthocs = import_optional("scikit_posthocs")
    splits = splits_text(table.complete("n_splits").to_numpy().ravel())
    # The diagram's labels go through Matplotlib's formula parser.
    plain = {name: short.replace("$", r"\$") for name, short in short_names(table.learners).items()}
    with drawing((7.5, 1.6 + 0.28 * len(plain)), n_axes=1) as (figure, axes):
        drawn = posthocs.critical_difference_diagram(
            {plain[name]: rank for name, rank in comparison.ranks.items()},
            comparison.nemenyi.rename(index=plain, columns=plain),
            ax=axes[0],
            label_fmt_left="{label} ({rank:.2f}) ",
            label_fmt_right=" ({rank:.2f}) {label}",
            color_palette={plain[name]: style[0] for name, style in styles(plain).items()},
            crossbar_props={"color": INK},
            marker_props={"s": 28},
            text_h_margin=0.2,
        )
        for bar in chain.from_iterable(drawn["crossbars"]):  # through its learners as a set
            bar.set_xdata(sorted(bar.get_xdata()))
        axes[0].grid(visible=False)
        axes[0].set_xticks(range(1, len(plain) + 1))
        axes[0].spines["top"].set(visible=True, bounds=(1, len(plain)))
        title = (
            f"Average rank over {comparison.n_datasets} data sets; splits: {splits} "
            f"(critical difference {comparison.critical_difference:.2f})"
        )
        figure.suptitle(title, fontsize=11)
        caption = (
            f"Average ranks over {comparison.n_datasets} data sets. Friedman's test: "
            f"χ² = {comparison.statistic:.2f}, p = {comparison.p_value:.2g}. Learners under one "
            "bar differ by less than Nemenyi's critical difference of "
            f"{comparison.critical_difference:.2f} at the 5 % level. {_splits(splits)}"
        )
        return save(figure, f"{table.name}-ranks", caption)


def styles(learners: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each learner: the paper's always the same, others in turn."""
    names = list(learners)
    unknown = [name for name in names if name not in STYLES]
    given = {
        name: (COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)])
        for number, name in enumerate(unknown)
    }
    return {name: STYLES.get(name) or given[name] for name in names}


def short_names(learners: Iterable[str]) -> dict[str, str]:
    """Names that leave room for the figure; the whole ones where short ones would be the same."""
    names = list(learners)
    short = {
        name: name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        for name in names
    }
    return short if len(set(short.values())) == len(names) else {name: name for name in names}


@contextmanager
def drawing(size: tuple[float, float], n_axes: int, n_rows: int = 1):
    """A figure outside Matplotlib's global state, and its axes, row by row."""
    matplotlib = import_optional("matplotlib")
    colors = ["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"]
    settings = dict.fromkeys([*colors, "grid.color"], INK) | {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.family": "DejaVu Sans",  # comes with Matplotlib: the same everywhere
        "font.size": 10,
        "grid.alpha": 0.15,
        "legend.frameon": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "raremetric",
    }
    with matplotlib.rc_context(settings):
        figure = import_optional("matplotlib.figure").Figure(figsize=size, layout="constrained")
        import_optional("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        yield figure, figure.subplots(n_rows, n_axes // n_rows, squeeze=False).ravel()


def _draw_curves(ax: Any, wide: Any) -> None:
    """One line a learner over the rows of a frame, equally far apart."""
    for learner, (color, marker) in styles(wide.columns).items():
        thick = 2.4 if learner == "IML" else 1.5
        ax.plot(
            range(len(wide)),
            wide[learner].to_numpy(),
            color=color,
            marker=marker,
            markersize=5,
            linewidth=thick,
            zorder=3 if learner == "IML" else 2,
        )
    ax.set_xlabel("Share of the minority")


def add_legend(figure: Any, ax: Any, learners: list[str]) -> None:
    """Names of the lines below the figure, in as many columns as there is room for."""
    # Matplotlib leaves labels out that begin with an underscore.
    labels = [re.sub("^_", " _", name) for name in short_names(learners).values()]
    # About eleven letters to an inch, six of them for the line and the gap.
    n_columns = int(11 * figure.get_figwidth() / (6 + max(map(len, labels))))
    legend = figure.legend(
        ax.get_lines(),
        labels,
        loc="outside lower center",
        ncols=min(max(n_columns, 1), len(labels)),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _splits(splits: str) -> str:
    return f"Splits behind each figure: {splits}."


def save(figure: Any, name: str, caption: str) -> Figure:
    """The drawing in all its forms."""
    png, svg, clear = BytesIO(), BytesIO(), BytesIO()
    no_date = {"Date": None}  # equal studies give equal files
    figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata=no_date)
    figure.savefig(clear, format="svg", metadata=no_date, transparent=True)
    inline = _for_page(clear.getvalue().decode(), name)
    return Figure(name, caption, svg.getvalue(), png.getvalue(), inline)


def _for_page(svg: str, name: str) -> str:
    """The drawing alone, in the colour of the page's text, its ids different from all others."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1).replace(
        "<svg ", '<svg aria-hidden="true" focusable="false" ', 1
    )
