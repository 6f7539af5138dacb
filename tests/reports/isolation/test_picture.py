from reports.pages import told
from saccade.reports.isolation.gradients import graph
from saccade.reports.isolation.picture import draw_graphs


def test_a_picture_says_each_weight_and_gradient(tmp_path):
    paths = draw_graphs({"uniform": graph("uniform")}, tmp_path / "a", "t")
    assert [path.name for path in paths] == ["a.png", "a.svg"] and told(paths[1])["title"] == "t"
    each = ", ".join(5 * ["weight 0.20 and gradient 0.40"])
    assert told(paths[1])["desc"] == f"uniform, output's gradient 2.00: {each}"
