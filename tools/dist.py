"""Build the wheel and the sdist of the last commit, and test them as a user would: `make dist`.

Both are built twice, in two clones at different paths: the wheel once from the sdist and once from
the files of the repository. The four files must have the same bytes, two by two. Then the wheel is
installed with each extra in a new environment outside of the repository and used there.
The tools (build, twine, uv) must be on the PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

from confinement import confined

ROOT = Path(__file__).parent.parent
EXAMPLES = ("service/serve.py",)
EXTRAS = {"library": "", "datasets": "[datasets]", "study": "[study]", "onnx": "[onnx]"}
NEEDED_BY_TESTS = (
    "tests/",
    "paper/",
    "docs/",
    "examples/",
    "tools/",
    "README.md",
    "pyproject.toml",
)


def main() -> None:
    """Build, compare, check and install; an error ends the program."""
    if run("git", "status", "--porcelain"):
        print("Note: the build is from the last commit; changes since then are not in it.")
    files = set(run("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    with tempfile.TemporaryDirectory(prefix="raremetric-dist-") as name:
        folder = Path(name)
        wheel, sdist = build_twice(folder)
        check_wheel(wheel, files)
        check_sdist(sdist, files)
        run("twine", "check", "--strict", wheel, sdist)
        for extra, suffix in EXTRAS.items():
            use_installed(folder, wheel, extra, suffix)
            print(f"The installed wheel works: {extra}.", flush=True)
        use_confined(folder)
        check_hint(folder)
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        (ROOT / "dist").mkdir()
        for path in (wheel, sdist):
            shutil.copy(path, ROOT / "dist")
            print(f"dist/{path.name}  sha256 {sha256(path.read_bytes()).hexdigest()}")


def run(*command: object, cwd: Path = ROOT, **env: str) -> str:
    """The output of a command that must succeed; its error messages are shown."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=inherited | env, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nFailed: {' '.join(map(str, command))}")
    return done.stdout


def build_twice(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, after a second build has given the same bytes."""
    # The time of the commit replaces the times of the files.
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    builds = []
    for name, targets in {"first": [], "second/elsewhere": ["--sdist", "--wheel"]}.items():
        clone, out = folder / name / "clone", folder / name / "dist"
        run("git", "clone", "--quiet", ROOT, clone)
        build = (sys.executable, "-m", "build", "--installer", "uv", "--outdir", out, *targets)
        run(*build, cwd=clone, SOURCE_DATE_EPOCH=epoch)
        builds.append(sorted(out.iterdir()))
    for first, second in zip(*builds, strict=True):
        if first.name != second.name or first.read_bytes() != second.read_bytes():
            sys.exit(f"Building {first.name} twice gave different files.")
    wheel, sdist = (next(p for p in builds[0] if p.suffix == end) for end in (".whl", ".gz"))
    print("Both builds gave the same bytes, from the repository and from the sdist.", flush=True)
    return wheel, sdist


def check_wheel(wheel: Path, files: set[str]) -> None:
    """The wheel contains the files of the package, data included, and nothing else."""
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {name.removeprefix("src/") for name in files if name.startswith("src/")}
    if packed != expected:
        sys.exit(f"The wheel and src differ by: {', '.join(sorted(packed ^ expected))}")


def check_sdist(sdist: Path, files: set[str]) -> None:
    """The sdist contains everything that is in version control, so that its tests can be run."""
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    if absent := {name for name in files if name.startswith(NEEDED_BY_TESTS)} - packed:
        sys.exit(f"The sdist lacks: {', '.join(sorted(absent))}")


def use_installed(folder: Path, wheel: Path, extra: str, suffix: str) -> None:
    """Install the wheel with an extra in a new environment, and use it in an empty directory."""
    environment, work = folder / f"env-{extra}", folder / f"work-{extra}"
    work.mkdir()
    run("uv", "venv", "--quiet", "--seed", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    run("uv", "pip", "install", "--quiet", "--python", python, f"{wheel}{suffix}")
    shutil.copy(ROOT / "tools" / "wheel_checks.py", work)
    for name in EXAMPLES:
        (work / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "examples" / name, work / name)
    print(run(python, "wheel_checks.py", extra, cwd=work), end="")


def use_confined(folder: Path) -> None:
    """Use the environment with the commands as in a container, where it is read-only."""
    python, work = folder / "env-study" / "bin" / "python", folder / "work-container"
    work.mkdir()
    folder.chmod(0o755)
    run("chmod", "-R", "a-w", folder / "env-study")
    run(*confined(work), python, folder / "work-study" / "wheel_checks.py", "container", cwd=work)
    run("chmod", "-R", "u+w", folder / "env-study")  # so that it can be deleted
    print("The installed wheel works without a writable directory.", flush=True)


def check_hint(folder: Path) -> None:
    """The command that error messages suggest adds an extra to what is installed already.

    pip finds that raremetric itself is installed, and does not look for it elsewhere.
    """
    python = folder / "env-library" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "raremetric[datasets]")
    print(run(python, "wheel_checks.py", "datasets", cwd=folder / "work-library"), end="")
    print('`pip install "raremetric[datasets]"` adds an extra to the installed wheel.')


if __name__ == "__main__":
    main()
