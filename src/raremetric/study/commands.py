"""``raremetric study``: experiments on many data sets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from raremetric.terminal import (
    App,
    AsJson,
    fail,
    note,
    print_json,
    print_rendered,
    progress,
    split_names,
    user_mistakes,
)

if TYPE_CHECKING:
    from raremetric.study.tasks import Result, Task

study_app = App(
    help="Run, resume and report experiments on many data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
StorePath = Annotated[Path, typer.Option("--store", help="The file with the results.")]
DEFAULT_STORE = Path("study.sqlite")
LISTED = ", separated by commas; may be repeated"


@study_app.command(
    "run", epilog="Example: raremetric study run mine.toml --datasets wine,glass --jobs 2"
)
def study_run(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Studies: TOML files with data sets and learners."),
    ],
    store: StorePath = DEFAULT_STORE,
    datasets: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help=f"Only these data sets{LISTED}.")
    ] = None,
    learners: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help=f"Only these learners{LISTED}.")
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Run N splits, the first ones, instead of the study's number."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, or local Dask workers.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or 'local'.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed tasks again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the tasks of studies that are missing; stop and resume at any time."""
    from raremetric.study.execution import code_notes, run_missing
    from raremetric.study.reading import read_study, resampling_notes, restrict
    from raremetric.study.store import Store
    from raremetric.study.tasks import all_tasks

    with user_mistakes("Stopped. Repeat the command to continue."):
        part = split_names(datasets, None), split_names(learners, None), splits
        studies = [restrict(read_study(file), *part) for file in files]
        tasks = all_tasks(studies)
        results = Store(store, create=True)
        notes = [sentence for study in studies for sentence in resampling_notes(study)]
        for sentence in dict.fromkeys([*notes, *code_notes(results, tasks)]):
            note(sentence)
        missing = results.missing(tasks, retry_failed)
        typer.echo(f"{len(tasks)} tasks, {len(missing)} to do; results go to {store}.", err=True)
        try:
            with progress(len(missing), "starting") as step:

                def on_result(task: Task, outcome: Result | str) -> None:
                    verdict = "failed" if isinstance(outcome, str) else f"{outcome.seconds:.1f} s"
                    step(f"{task.dataset} {task.learner.name}", f"{task.id}: {verdict}")

                run_missing(
                    results,
                    studies,
                    n_jobs=jobs,
                    dask=dask,
                    retry_failed=retry_failed,
                    on_result=on_result,
                )
        except KeyboardInterrupt:
            left = len(results.missing(tasks, retry_failed))
            typer.echo(f"Stopped; {left} tasks left. Repeat the command to continue.", err=True)
            raise typer.Exit(130) from None
    failed = list(results.failures(tasks))
    if as_json:
        numbers = {"tasks": len(tasks), "run": len(missing)}
        print_json({"store": str(store), **numbers, "failed": failed})
    if failed:
        fail(
            f"{len(failed)} of the tasks failed, such as {failed[0]}. "
            f"See: raremetric study status --store {store}"
        )


@study_app.command("status", epilog="Example: raremetric study status --store study.sqlite")
def study_status(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="As in study run. Default: the studies in the store."
        ),
    ] = None,
    store: StorePath = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Show how many tasks are done, failed and left, and the expected time of one process."""
    from raremetric.study.reading import read_study
    from raremetric.study.store import Store

    with user_mistakes():
        results = Store(store)
        known = results.statuses()
        found: list[dict[str, Any]] = []
        failures: dict[str, str] = {}
        for study in map(read_study, files) if files else results.studies():
            tasks = study.tasks()
            failures |= results.failures(tasks)
            counts = Counter(known.get(task.id) for task in tasks)
            missing = [task for task in tasks if task.id not in known]
            found.append(
                {
                    "study": study.name,
                    "done": counts["done"] + counts["absent"],
                    "failed": counts["failed"],
                    "left": counts[None],
                    "seconds_left": results.seconds_left(missing),
                }
            )
    if as_json:
        print_json({"studies": found, "failures": failures})
        return
    table = Table("study")
    for heading in ("done", "failed", "left", "expected time"):
        table.add_column(heading, justify="right")
    for row in found:
        *numbers, seconds = row.values()
        table.add_row(*map(str, numbers), _duration(seconds))
    print_rendered(table)
    for task_id, traceback in failures.items():
        typer.echo(f"failed: {task_id}: {traceback.strip().splitlines()[-1]}")


@study_app.command("report", epilog="Example: raremetric study report --out results")
def study_report(
    out: Annotated[Path, typer.Option(help="The directory to write to.")],
    store: StorePath = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Write tables, figures and an HTML page of the finished tasks."""
    from raremetric.study.report import write_report
    from raremetric.study.store import Store

    with user_mistakes():
        source = Store(store)
        results = source.results()
        with progress(None, "writing the report"):
            paths = write_report(results, out, details=source.details())
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        typer.echo(str(path))


@study_app.command("export", epilog="Example: raremetric study export study.sqlite results.csv.gz")
def study_export(
    store: Annotated[Path, typer.Argument(help="The file with the results.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The text file to write: .csv.gz.")],
    as_json: AsJson = False,
) -> None:
    """Write a store as compressed text: one row per task, and the studies."""
    from raremetric.files import check_output
    from raremetric.study.store import Store
    from raremetric.study.text import export_results

    with user_mistakes():
        check_output(file, [store])
        n_tasks = export_results(Store(store), file)
    if as_json:
        print_json({"file": str(file), "tasks": n_tasks})
    else:
        typer.echo(f"{n_tasks} tasks written to {file}.")


@study_app.command("import", epilog="Example: raremetric study import results.csv.gz study.sqlite")
def study_import(
    file: Annotated[Path, typer.Argument(help="A text file that study export wrote.")],
    store: Annotated[
        Path, typer.Argument(help="The store to add to. It is created if it does not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Add exported results to a store: the tasks that it lacks, or that failed in it.

    If a task has another result in the store than in the file, nothing is written.
    """
    from raremetric.study.text import import_results

    with user_mistakes():
        n_tasks = import_results(file, store)
    if as_json:
        print_json({"store": str(store), "tasks": n_tasks})
    else:
        typer.echo(f"{n_tasks} tasks added to {store}.")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60} h {minutes % 60} min"
