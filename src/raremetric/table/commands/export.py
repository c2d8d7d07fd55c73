"""``raremetric export``: a model for programs without Python."""

from __future__ import annotations

from typing import Annotated

import typer

from raremetric.table.commands.options import ModelFile
from raremetric.terminal.common import AsJson, print_json, user_mistakes


def export(
    model: ModelFile,
    out: Annotated[str, typer.Option("--out", "-o", metavar="PATH", help="ONNX file to write.")],
    as_json: AsJson = False,
) -> None:
    """Write the classifier of a model as an ONNX file, whose input is the encoded columns."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table import load_model

    with user_mistakes():
        from raremetric.export import to_onnx  # here, because the extra may not be installed

        check_output(out, [model])
        fitted = load_model(model)
        if not fitted.has_neighbors:
            raise ValueError(
                f"{model}: {fitted.method!r} cannot be exported to ONNX, only the methods of this "
                "package can, which decide by distances to examples. Fit one of them, such as "
                "--model rare."
            )
        names = [str(name) for name in fitted.encoder.get_feature_names_out()]
        content = to_onnx(fitted.classifier, threshold=fitted.fixed_threshold, feature_names=names)
        with atomic_write(out) as stream:
            stream.write(content)
    labels = dict(enumerate(fitted.class_names))
    if as_json:
        print_json({"file": str(out), "bytes": len(content), "X": names, "label": labels})
        return
    typer.echo(f"Input X: doubles of shape (rows, {len(names)}), the encoded columns:")
    typer.echo(f"  {', '.join(names)}")
    typer.echo(
        f"Outputs: label, 1 for {labels[1]!r} and 0 for {labels[0]!r}; probabilities of 0 and 1."
    )
    typer.echo(f"Wrote {len(content) / 1e6:.1f} MB to {out}.")
