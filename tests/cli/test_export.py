"""``raremetric export``."""

import json
import sys

import numpy as np
import pytest

from raremetric.contenders import scored
from raremetric.table import load_model

onnxruntime = pytest.importorskip("onnxruntime")


def exported(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session, *session.run(None, {"X": X})


def test_the_command(run, saved, tmp_path):
    out = tmp_path / "model.onnx"
    result = run("export", saved, "-o", out)
    assert result.exit_code == 0, result.output
    assert "doubles of shape (rows, 7)" in result.stdout
    assert "1 for 'ill' and 0 for " in result.stdout
    assert str(out) in result.stdout
    model = load_model(saved)
    names = model.encoder.get_feature_names_out().tolist()
    session, label, p = exported(out, model.X)
    positive, probability, *_ = model.decide(model.X)
    assert label.tolist() == positive.astype(int).tolist()
    np.testing.assert_allclose(p[:, 1], probability, atol=1e-12)
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == names
    printed = json.loads(run("export", saved, "-o", out, "--json").stdout)
    assert printed["X"] == names
    assert printed["label"]["1"] == "ill"
    assert printed["bytes"] == out.stat().st_size


def test_the_threshold_that_the_user_chose(run, path, tmp_path):
    saved, out = tmp_path / "model.skops", tmp_path / "model.onnx"
    words = ("fit", path, "--target", "state", "--id", "id", "--model", "gmml", "-o", saved)
    assert run(*words, "--threshold", "0.2").exit_code == 0
    assert run("export", saved, "-o", out).exit_code == 0
    model = load_model(saved)
    _, label, p = exported(out, model.X)
    positive, *_ = model.decide(model.X)
    assert label.tolist() == positive.astype(int).tolist() == (p[:, 1] >= 0.2).astype(int).tolist()
    assert label.tolist() != np.argmax(p, axis=1).tolist()


def test_what_cannot_be_exported(run, path, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    logistic, out = tmp_path / "logistic.skops", tmp_path / "model.onnx"
    words = ("fit", path, "--target", "state", "--id", "id", "--model", "logistic")
    assert run(*words, "-o", logistic).exit_code == 0
    result = run("export", logistic, "-o", out)
    assert result.exit_code == 2
    assert "'logistic' cannot be exported to ONNX, only the methods of this" in result.stderr
    assert not out.exists()
    result = run("export", saved, "-o", saved)
    assert result.exit_code == 2
    assert "is also an input" in result.stderr
    assert run("export", saved, "-o", tmp_path / "none" / "x.onnx").exit_code == 2


def test_without_the_extra(run, saved, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "raremetric.export", raising=False)
    result = run("export", saved, "-o", tmp_path / "model.onnx")
    assert result.exit_code == 2
    assert 'ONNX export needs onnx, but it is not installed: pip install ".[onnx]"' in result.stderr
