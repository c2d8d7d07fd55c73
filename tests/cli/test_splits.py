"""Options of compare that decide which rows are tested by which."""

import json

import numpy as np

from tests.table.conftest import make_table


def test_groups_and_repeats(run, tmp_path):
    frame = make_table().assign(customer=np.arange(120) // 2).drop(columns="id")
    path, page = tmp_path / "t.csv", tmp_path / "page.html"
    frame.to_csv(path, index=False)
    words = ["compare", path, "--target", "state", "--methods", "plain", "-o", page, "--json"]
    grouped = run(*words, "--folds", "2", "--repeats", "3", "--group", "customer")
    assert grouped.exit_code == 0, grouped.output
    text = " ".join(page.read_text().split())
    assert "repeated 3 times" in text
    assert "occurs both in the training and in the test part" in text
    plain = json.loads(run(*words, "--folds", "2").stdout)["methods"][0]
    assert json.loads(grouped.stdout)["methods"][0]["F1"] != plain["F1"]
    assert run(*words, "--group", "buyer").exit_code == 2
