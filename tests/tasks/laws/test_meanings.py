"""Every metric that a task prints has an explanation."""

from saccade.cli.metrics import meaning
from tasks.laws.table import each_task


@each_task
def test_every_metric_is_explained_where_it_is_printed(run):
    unexplained = [name for name in run.results["metrics"] if not meaning(name)]
    assert unexplained == [], "src/saccade/cli/metrics.py: MEANINGS lacks them"
