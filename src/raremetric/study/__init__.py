"""Studies of many data sets, as tasks that can be stopped and resumed."""

from typing import TYPE_CHECKING

from raremetric.extras import lazy_names

if TYPE_CHECKING:
    from raremetric.study.execution import run_missing
    from raremetric.study.protocol import run_task
    from raremetric.study.reading import read_study, restrict
    from raremetric.study.store import Store
    from raremetric.study.tasks import LearnerSpec, Study, StudyResults, Task
    from raremetric.study.text import export_results, import_results

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "execution": ["run_missing"],
        "protocol": ["run_task"],
        "reading": ["read_study", "restrict"],
        "store": ["Store"],
        "tasks": ["LearnerSpec", "Study", "StudyResults", "Task"],
        "text": ["export_results", "import_results"],
    },
)
