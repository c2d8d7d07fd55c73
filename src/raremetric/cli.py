"""The ``raremetric`` command. Thin: parse, call, print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from raremetric import __version__
from raremetric.datasets import DatasetInfo, describe_dataset, list_datasets

if TYPE_CHECKING:
    from raremetric.study.run_task import Result
    from raremetric.study.tasks import Study, Task

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError:
    sys.stderr.write('The raremetric command needs: pip install "raremetric[study]"\n')
    raise SystemExit(2) from None

app = typer.Typer(
    help="Metric learning for the class you care about and have few examples of.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def fail(sentence: object) -> NoReturn:
    """End with one sentence on stderr and exit code 2."""
    typer.echo(f"Error: {' '.join(str(sentence).split())}", err=True)
    raise typer.Exit(2)


@contextmanager
def user_mistakes() -> Iterator[None]:
    """Turn the errors that a user can mend into one sentence; any other is a bug and stays."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        fail(error)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Metric learning for the class you care about and have few examples of."""


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="Show this data set only.")] = None,
    collection: Annotated[
        str | None, typer.Option(help='Only the "paper" or the "keel" collection.')
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets that come with raremetric, or show one."""
    with user_mistakes():
        names = list_datasets(collection) if name is None else [name]
        infos = [describe_dataset(each) for each in names]
    if as_json:
        found = [info.to_dict() for info in infos]
        typer.echo(json.dumps(found if name is None else found[0], indent=2, ensure_ascii=False))
    elif name is None:
        Console().print(_overview(infos))
    else:
        Console().print(_details(infos[0]))


def _overview(infos: list[DatasetInfo]) -> Table:
    table = Table(title=f"{len(infos)} data sets", title_justify="left")
    table.add_column("name", no_wrap=True)
    for heading in ("n", "d", "n⁺", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("source", no_wrap=True)
    for info in infos:
        counts = (info.n_samples, info.n_features, info.n_positive)
        table.add_row(info.name, *map(str, counts), f"{info.share:.2%}", _short(info.source))
    return table


def _short(source: str) -> str:
    """UCI 109 or KEEL: the whole address is shown with a single data set."""
    repository, number = ("UCI", source.rpartition("/")[2]) if "uci.edu" in source else ("KEEL", "")
    return f"{repository} {number}".strip()


def _details(info: DatasetInfo) -> Table:
    table = Table(title=info.name, title_justify="left", show_header=False)
    rows = {
        "examples (n)": str(info.n_samples),
        "features (d)": str(info.n_features),
        "positive (n⁺)": f"{info.n_positive} ({info.share:.2%})",
        "positive label": ", ".join(map(str, info.positive)),
        "rows": "in the paper's order" if info.paper_order else "not in the paper's order",
        "collection": info.collection,
        "source": info.source,
        "licence": info.licence,
        "note": info.note,
    }
    if info.collection != "paper":
        del rows["rows"]
    for heading, value in rows.items():
        if value:
            table.add_row(heading, value)
    return table


study_app = typer.Typer(
    help="The paper's experiments, those beyond it, or your own: run, resume, look, report.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(study_app, name="study")
StorePath = Annotated[Path, typer.Option("--store", help="The file that keeps the results.")]
DEFAULT_STORE = Path("study.sqlite")


@study_app.command(
    "run", epilog="Example: raremetric study run table2 --datasets wine,glass --splits 2 --jobs 2"
)
def study_run(
    name: Annotated[
        str,
        typer.Argument(
            help="Of the paper: table2, table3-smote, table3-rus, imbalance, ablation, or all of "
            "these. Beyond it, RareClassifier against what one might use instead: beyond (the "
            "paper's data sets), rare-regime (KEEL's), rare-regime-odd, rare-regime-even. Or a "
            "TOML file."
        ),
    ],
    store: StorePath = DEFAULT_STORE,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    learners: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    splits: Annotated[int | None, typer.Option(help="Only the first so many splits.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, or local Dask workers.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or 'local'.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Try failed tasks again.")] = False,
) -> None:
    """Do what is missing of a study; stop it and run it again as often as you like."""
    from raremetric.study.executors import run_missing
    from raremetric.study.store import Store

    with user_mistakes():
        studies = _studies(name, datasets, learners, splits)
        tasks = list({task.id: task for study in studies for task in study.tasks()}.values())
        results = Store(store, create=True)
        missing = results.missing(tasks, retry_failed)
        typer.echo(f"{len(tasks)} tasks, {len(missing)} to do; results go to {store}.", err=True)
        try:
            with _progress(len(missing)) as tell:
                run_missing(
                    results, tasks, n_jobs=jobs, dask=dask, retry_failed=retry_failed, tell=tell
                )
        except KeyboardInterrupt:
            left = len(results.missing(tasks, retry_failed))
            typer.echo(f"Stopped; {left} tasks left. The same command goes on.", err=True)
            raise typer.Exit(130) from None
    if failed := [task_id for task_id, _ in results.failures()]:
        fail(f"{len(failed)} tasks failed, such as {failed[0]}. See: raremetric study status")


@study_app.command("status", epilog="Example: raremetric study status table2 --store study.sqlite")
def study_status(
    name: Annotated[str, typer.Argument(help="As in study run.")] = "all",
    store: StorePath = DEFAULT_STORE,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    learners: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    splits: Annotated[int | None, typer.Option(help="Only the first so many splits.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="For the expected time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is done, failed and left, and how long the rest will take."""
    from raremetric.study.executors import seconds_left
    from raremetric.study.store import Store

    with user_mistakes():
        results = Store(store)
        known = results.statuses()
        found: list[dict[str, Any]] = []
        for study in _studies(name, datasets, learners, splits):
            tasks = study.tasks()
            missing = [task for task in tasks if task.id not in known]
            counts = [known[task.id] for task in tasks if task.id in known]
            found.append(
                {
                    "study": study.name,
                    "done": sum(status != "failed" for status in counts),
                    "failed": counts.count("failed"),
                    "left": len(missing),
                    "seconds_left": seconds_left(results, missing, jobs) if missing else 0.0,
                }
            )
        failures = results.failures()
    if as_json:
        typer.echo(json.dumps({"studies": found, "failures": dict(failures)}, indent=2))
        return
    table = Table()
    for heading in ("study", "done", "failed", "left", "expected time"):
        table.add_column(heading, justify="left" if heading == "study" else "right")
    for row in found:
        cells = (str(row[key]) for key in ("study", "done", "failed", "left"))
        table.add_row(*cells, _duration(row["seconds_left"]))
    Console().print(table)
    for task_id, traceback in failures:
        typer.echo(f"failed: {task_id}: {traceback.strip().splitlines()[-1]}")


@study_app.command("report", epilog="Example: raremetric study report --out results")
def study_report(
    out: Annotated[Path, typer.Option(help="The directory to write to.")],
    store: StorePath = DEFAULT_STORE,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "The paper, reproduced",
) -> None:
    """Write tables, figures and an HTML page from the results there are."""
    from raremetric.report import write_report
    from raremetric.study.store import Store

    with user_mistakes():
        results = Store(store)
        paths = write_report(results.rows(), out, title=title, details=results.details())
    for path in paths:
        typer.echo(str(path))


def _studies(
    name: str, datasets: str | None, learners: str | None, splits: int | None
) -> list[Study]:
    from raremetric.study.tasks import named_study, read_study, restrict

    studies = [read_study(Path(name))] if name.endswith(".toml") else named_study(name)
    only = {
        "datasets": datasets.split(",") if datasets else None,
        "learners": learners.split(",") if learners else None,
    }
    return [restrict(study, **only, splits=splits) for study in studies]


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Task, Result | str], None]]:
    """A bar with rate and time left on a terminal; plain lines elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        done = 0

        def tell_line(task: Task, outcome: Result | str) -> None:
            nonlocal done
            done += 1
            verdict = "failed" if isinstance(outcome, str) else f"{outcome.seconds:.1f} s"
            typer.echo(f"{done}/{total} {task.id}: {verdict}", err=True)

        yield tell_line
        return
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, "{task.fields[rate]}", console=console) as progress:
        bar = progress.add_task("starting", total=total, rate="")

        def tell_bar(task: Task, outcome: Result | str) -> None:
            speed = progress.tasks[bar].speed
            progress.update(
                bar,
                advance=1,
                description=f"{task.dataset} {task.learner.name}",
                rate=f"{60 * speed:.1f}/min" if speed else "",
            )

        yield tell_bar


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60} h {minutes % 60} min"
