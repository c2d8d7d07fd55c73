"""Export of fitted models to ONNX, for programs without Python."""

from raremetric.extras import import_optional

import_optional("onnx", "ONNX export")  # one sentence if it is not installed

from raremetric.export.convert import to_onnx  # noqa: E402

__all__ = ["to_onnx"]
