"""Look for known vulnerabilities in the packages of the extras `study` and `onnx`: `make audit`.

The tools (pip-audit, uv) must be on the PATH. pip-audit asks a service on the internet. It succeeds
even if that service knows none of the packages, so this program counts those that were audited:
the exit code is 1 if there are vulnerabilities, and 3 if some packages were not audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Audit the newest versions that the extras allow."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder, "requirements.txt")
        extras = ("--extra", "study", "--extra", "onnx")
        compile_pins = ("uv", "pip", "compile", "--quiet", *extras, "pyproject.toml", "-o", pins)
        subprocess.run(compile_pins, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        options = ("--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off")
        audit = ("pip-audit", "--requirement", pins, *options)
        done = subprocess.run(audit, capture_output=True, text=True)
    text, code = summarize(done.stdout, done.stderr)
    print(text)
    return code


def summarize(output: str, errors: str) -> tuple[str, int]:
    """What an audit found, in words, and the exit code."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        reason = (errors.strip().splitlines() or ["no answer"])[-1]
        return f"Nothing was audited, because pip-audit failed: {reason}", 3
    audited = [each for each in packages if "skip_reason" not in each]
    lines = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in "
        f"{', '.join(found['fix_versions']) or 'no version yet'}"
        for each in audited
        for found in each["vulns"]
    ]
    code = int(bool(lines))
    lines.append(f"{len(audited)} of {len(packages)} packages were audited.")
    if len(audited) < len(packages):
        lines.append(
            "The others were not, because the service of pip-audit does not know them or cannot be "
            "reached from here: run `make audit` on a machine with access to the internet."
        )
        code = code or 3
    elif not code:
        lines.append("There are no known vulnerabilities.")
    return "\n".join(lines), code


if __name__ == "__main__":
    sys.exit(main())
