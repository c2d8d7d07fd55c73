"""The registry's entries for large tables, each one class against the rest."""

from __future__ import annotations

from raremetric.datasets import parsers
from raremetric.datasets.parsers import COMMON, KEEL_BALANCED, Recipe
from raremetric.datasets.registry import Entry, numbered

_LETTER = (
    "x_box y_box width high onpix x_bar y_bar x2bar y2bar xybar x2ybr xy2br x_ege xegvy y_ege yegvx"
)
_MAGIC = "fLength fWidth fSize fConc fConc1 fAsym fM3Long fM3Trans fAlpha fDist"
_NO_CONSTANTS = "Without constant columns."
_AGNOSTIC = "http://clopinet.com/isabelle/Projects/agnostic/"
_KEEL_STANDARD = "https://sci2s.ugr.es/keel/datasets.php"


def _large(
    name: str,
    file: str,
    positive: str | int,
    counts: tuple[int, int, int],
    checksum: str,
    source: str = _KEEL_STANDARD,
    recipe: Recipe = parsers.keel,
    note: str = "",
) -> Entry:
    """Entry for a large table: one class against the rest."""
    return Entry(
        name, file, (positive,), *counts, checksum, source,
        recipe=recipe, note=note, collection="large",
    )  # fmt: skip


def _letter(label: str, n_positive: int) -> Entry:
    return _large(
        f"letter-{label}", f"{KEEL_BALANCED}/letter.dat",
        label, (20000, 16, n_positive), "a8df7885e239818c", recipe=parsers.plain(_LETTER),
    )  # fmt: skip


def _kr_vs_k(label: str, n_positive: int) -> Entry:
    return _large(
        f"kr-vs-k-{label}", f"{COMMON}/kr-vs-k/kr-vs-k.dat",
        label, (28056, 23, n_positive), "289b50fb6a7ffbe1",
    )  # fmt: skip


def _fars(label: str, n_positive: int) -> Entry:
    return _large(
        f"fars-{label}", f"{COMMON}/fars/fars.dat",
        label, (100968, 365, n_positive), "d724e37fb70ff249",
    )  # fmt: skip


# name, file, positive label, (n, d, n⁺), checksum
_LARGE_ENTRIES = (
    _large(
        "ada", f"{COMMON}/ada/ada_train.data",
        1, (4147, 47, 1029), "3273a0ac45cd5bec",
        _AGNOSTIC, parsers.numbers_and_labels, _NO_CONSTANTS,
    ),
    _fars("Injured_Severity_Unknown", 299),
    _fars("Unknown", 901),
    _large(
        "hiva", f"{COMMON}/hiva/hiva_train.data",
        1, (3845, 1617, 135), "2bb78ce4350d0413",
        _AGNOSTIC, parsers.numbers_and_labels, _NO_CONSTANTS,
    ),
    _kr_vs_k("four", 198),
    _kr_vs_k("sixteen", 390),
    _kr_vs_k("three", 81),
    _letter("B", 766),
    _letter("H", 734),
    _letter("Z", 734),
    _large(
        "magic", f"{KEEL_BALANCED}/magic.dat",
        "h", (19020, 10, 6688), "b3ebd38094f722e6", recipe=parsers.plain(_MAGIC),
    ),
    _large(
        "nursery-very_recom", f"{COMMON}/nursery/nursery.dat",
        "very_recom", (12960, 26, 328), "8e9d33a0edcd5942",
    ),
    _large(
        "optdigits-8", f"{KEEL_BALANCED}/optdigits.dat",
        8, (5620, 64, 554), "0cc4553895890c37", recipe=parsers.plain(numbered("A", 1, 64)),
    ),
    _large(
        "penbased-5", f"{KEEL_BALANCED}/penbased.dat",
        5, (10992, 16, 1055), "72c0572cddc06e64", recipe=parsers.plain(numbered("A", 1, 16)),
    ),
    _large(
        "satimage-4", f"{KEEL_BALANCED}/satimage.dat",
        4, (6435, 36, 626), "69b431957061cbaf", recipe=parsers.plain(numbered("Sp", 1, 36)),
    ),
    _large(
        "sylva", f"{COMMON}/sylva/sylva_train.data",
        1, (13086, 212, 805), "f0670876b519a050",
        _AGNOSTIC, parsers.numbers_and_labels, _NO_CONSTANTS,
    ),
    _large(
        "texture-2", f"{KEEL_BALANCED}/texture.dat",
        2, (5500, 40, 500), "2e0faca48aa437d4", recipe=parsers.plain(numbered("A", 1, 40)),
    ),
)  # fmt: skip

LARGE = {entry.name: entry for entry in _LARGE_ENTRIES}
