"""Studies of many data sets, as tasks that can be stopped and resumed."""

from raremetric.study.execution import run_missing, run_task
from raremetric.study.reading import read_study, restrict
from raremetric.study.store import Store
from raremetric.study.tasks import LearnerSpec, Study, StudyResults, Task
from raremetric.study.text import export_results, import_results

__all__ = [
    "LearnerSpec",
    "Store",
    "Study",
    "StudyResults",
    "Task",
    "export_results",
    "import_results",
    "read_study",
    "restrict",
    "run_missing",
    "run_task",
]
