"""The claims of the paper's text about its experiments, each with the code that checks it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from paper import share_claims, table_claims
from paper.cells import AS_PRINTED, EXCHANGED
from paper.table_claims import OTHERS, TABLES, Finding, NotRunError, Runs
from paper.verdicts import NOT_RUN


class Claim(NamedTuple):
    """A statement of the paper."""

    place: str  # where the paper makes it
    text: str  # the statement, in our words
    commands: tuple[str, ...]  # what computes our numbers: arguments of ``raremetric``
    find: Callable[[Runs], Finding]

    def check(self, runs: Runs) -> Finding:
        """What the runs say."""
        try:
            return self.find(runs)
        except NotRunError:
            return Finding("", NOT_RUN, "")


TABLE2, SMOTE, RUS = (f"study run paper/{name}.toml" for name in TABLES)
IMBALANCE, ABLATION = "study run paper/imbalance.toml", "study run paper/ablation.toml"
FIRST, SECOND = "4.4, first experiment", "4.4, second experiment"
THIRD, FOURTH = "4.4, third experiment", "4.4, fourth experiment"

CLAIMS = [
    Claim(
        "4.1, Table 1",
        "22 data sets with these numbers of examples, features and positives",
        ("datasets --collection paper",),
        table_claims.dataset_sizes,
    ),
    Claim(
        FIRST,
        "Mean F1 as in the text: IML 72.1, LMNN 70.8, ITML 70.1, GMML 69.3, Euclidean 67.3",
        (TABLE2,),
        partial(table_claims.means_agree, name="table2", reading=EXCHANGED),
    ),
    Claim(
        "Table 2",
        "Mean F1 as in the table, whose headings give LMNN 69.3 and GMML 70.8",
        (TABLE2,),
        partial(table_claims.means_agree, name="table2", reading=AS_PRINTED),
    ),
    Claim(
        FIRST,
        "IML has the highest mean F1",
        (TABLE2,),
        partial(table_claims.best_mean, names=["table2"]),
    ),
    Claim(
        FIRST,
        "IML has the best average rank, 1.48",
        (TABLE2,),
        partial(table_claims.best_rank, names=["table2"]),
    ),
    Claim(
        f"{FIRST}; 5",
        "IML is generally better, however balanced the data are",
        (TABLE2,),
        table_claims.best_when_balanced_and_not,
    ),
    Claim(
        "4.2",
        "Methods with pairs of neighbors (LMNN, IML) are better than methods with random pairs "
        "(ITML, GMML)",
        (TABLE2,),
        table_claims.neighbor_pairs_win,
    ),
    Claim(
        "1",
        "A metric made for imbalance is better than the two earlier proposals (DMBK; iterative "
        "metric learning with LMNN). The paper does not measure them",
        (TABLE2,),
        table_claims.iml_beats_rivals,
    ),
    Claim(
        "Table 3a",
        "Mean F1 with SMOTE, headings exchanged as in the text of the first experiment",
        (SMOTE,),
        partial(table_claims.means_agree, name="table3-smote", reading=EXCHANGED),
    ),
    Claim(
        "Table 3b",
        "Mean F1 with random under-sampling, headings exchanged",
        (RUS,),
        partial(table_claims.means_agree, name="table3-rus", reading=EXCHANGED),
    ),
    Claim(
        SECOND,
        "IML has the highest mean F1 in each of the three settings",
        (TABLE2, SMOTE, RUS),
        partial(table_claims.best_mean, names=list(TABLES)),
    ),
    Claim(
        "Tables 2 and 3",
        "IML has the best average rank in each of the three settings: 1.48, 1.61, 2.04",
        (TABLE2, SMOTE, RUS),
        partial(table_claims.best_rank, names=list(TABLES)),
    ),
    Claim(
        SECOND,
        "SMOTE improves all methods significantly",
        (TABLE2, SMOTE),
        table_claims.smote_helps,
    ),
    Claim(
        SECOND,
        "Random under-sampling improves none",
        (TABLE2, RUS),
        table_claims.undersampling_does_not_help,
    ),
    Claim(
        SECOND,
        "SMOTE and IML complement each other",
        (TABLE2, SMOTE),
        table_claims.smote_and_iml_add_up,
    ),
    Claim(
        "1, Figure 1",
        "spectfheart: as the minority shrinks, the accuracy of the four other methods rises",
        (IMBALANCE,),
        share_claims.accuracy_rises,
    ),
    Claim(
        "1, Figure 1",
        "spectfheart: their accuracy comes close to 100 %",
        (IMBALANCE,),
        share_claims.accuracy_near_100,
    ),
    Claim(
        "1, Figure 1",
        "spectfheart: they miss many positives (here: more than half, at the smallest share)",
        (IMBALANCE,),
        share_claims.positives_missed,
    ),
    Claim(
        "1, Figure 1",
        "spectfheart: their F1 falls with the share of positives",
        (IMBALANCE,),
        partial(share_claims.f1_falls, learners=OTHERS),
    ),
    Claim(
        THIRD,
        "spectfheart has too few positives for shares below 10 %",
        (IMBALANCE,),
        share_claims.smallest_share,
    ),
    Claim(
        f"{THIRD}, Figure 3",
        "spectfheart: the F1 of IML falls, too",
        (IMBALANCE,),
        partial(share_claims.f1_falls, learners=("IML",)),
    ),
    Claim(
        f"{THIRD}, Figure 3",
        "spectfheart: the F1 of IML drops the least of all methods",
        (IMBALANCE,),
        share_claims.smallest_drop,
    ),
    Claim(
        f"{THIRD}, Figure 4",
        "In the mean over the data sets, IML is always the most robust",
        (IMBALANCE,),
        share_claims.best_at_each_share,
    ),
    Claim(
        f"{FOURTH}, Figure 5",
        "With balanced classes, IML, ML2 and ML1 perform the same",
        (ABLATION,),
        partial(share_claims.variants_when_balanced, degrade=False),
    ),
    Claim(
        f"{FOURTH}, Figure 5",
        "With balanced classes, neither pairs of neighbors (ML2) nor weights (IML) do harm",
        (ABLATION,),
        partial(share_claims.variants_when_balanced, degrade=True),
    ),
    *(
        Claim(
            f"3; {FOURTH}, Figure 5",
            f"{what}: {first} is better than {second} {where}",
            (ABLATION,),
            partial(share_claims.variant_ahead, first=first, second=second, rare=rare),
        )
        for first, second, what in (
            ("IML", "ML2", "The weights of the pair sets help"),
            ("ML2", "ML1", "Pairs of neighbors help"),
        )
        for rare, where in ((False, "at shares of 40 to 10 %"), (True, "at 5 % and less"))
    ),
]
