"""``raremetric study``: the paper's experiments, or one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from raremetric.cli.common import AsJson, fail, print_json, progress, user_mistakes

if TYPE_CHECKING:
    from raremetric.study.run_task import Result
    from raremetric.study.tasks import Study, Task

study_app = typer.Typer(
    help="The paper's experiments, those beyond it, or your own: run, resume, look, report.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
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
    as_json: AsJson = False,
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
            with progress(len(missing), "starting") as step:

                def tell(task: Task, outcome: Result | str) -> None:
                    verdict = "failed" if isinstance(outcome, str) else f"{outcome.seconds:.1f} s"
                    step(f"{task.dataset} {task.learner.name}", f"{task.id}: {verdict}")

                run_missing(
                    results, tasks, n_jobs=jobs, dask=dask, retry_failed=retry_failed, tell=tell
                )
        except KeyboardInterrupt:
            left = len(results.missing(tasks, retry_failed))
            typer.echo(f"Stopped; {left} tasks left. The same command goes on.", err=True)
            raise typer.Exit(130) from None
    failed = [task_id for task_id, _ in results.failures()]
    if as_json:
        print_json(
            {"store": str(store), "tasks": len(tasks), "run": len(missing), "failed": failed}
        )
    if failed:
        fail(f"{len(failed)} tasks failed, such as {failed[0]}. See: raremetric study status")


@study_app.command("status", epilog="Example: raremetric study status table2 --store study.sqlite")
def study_status(
    name: Annotated[str, typer.Argument(help="As in study run.")] = "all",
    store: StorePath = DEFAULT_STORE,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    learners: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    splits: Annotated[int | None, typer.Option(help="Only the first so many splits.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="For the expected time.")] = 1,
    as_json: AsJson = False,
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
        print_json({"studies": found, "failures": dict(failures)})
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
    as_json: AsJson = False,
) -> None:
    """Write tables, figures and an HTML page from the results there are."""
    from raremetric.report import write_report
    from raremetric.study.results import results_by_study
    from raremetric.study.store import Store

    with user_mistakes():
        results = Store(store)
        with progress(None, "writing the report"):
            studies = results_by_study(results.rows())
            paths = write_report(studies, out, title=title, details=results.details())
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
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


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60} h {minutes % 60} min"
