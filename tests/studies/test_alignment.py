from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import look, runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.models import recurrent
from saccade.tasks.translate import TRANSLATE, codec
from saccade.tasks.translate.gradients import jacobian
from saccade.tasks.translate.options import RECIPES
from saccade.train.run import Run
from saccade.train.trained import load_trained
from studies.alignment import STUDY, Findings, Options, blocks, by_words, crossed, off_diagonal
from studies.frame.folder import ReportError
from studies.frame.study import make
from study_rows import complete, described, documented, stored, written
from tiers import every

EN = ["This", " agreement", " on", " the", " European", " Economic", " Are", "a"]
FR = ["Cet", " accord", " sur", " la", " zone", " économique", " europé", "enne"]
MOST = (0, 1, 2, 3, 6, 5, 4, 4)  # as in figure 3 of the paper: the zone is the Area, of two pieces
NOTHING, REVERSED = {"most": range(8)}, {"most": range(7, -1, -1), "pieces": False}
ROWS = st.lists(st.integers(0, 6), min_size=1, max_size=8)
PAIRS = [(f"satz {number} hier", f"here sentence {number}") for number in range(60)]
TINY = {"hidden_dim": 8, "embedding_dim": 6, "max_steps": 1, "device": "cpu", "tokenizer": "words"}


def made_up(most=MOST, sure=0.8, pieces=True, by="attention"):
    """report.json of one sentence; by default three words are in another order."""
    weights = torch.full((len(FR), len(EN)), (1 - sure) / (len(EN) - 1))
    weights[range(len(FR)), most] = sure
    row = {"text": "This agreement on the European Economic Area", "model": "rnnsearch", "data": "corpus", "by": by}
    row |= {"pieces": pieces, "translation": "Cet accord sur la zone économique européenne", "score": -1.0}
    row |= {"source": EN, "target": FR, "steps": 4400, "weights": weights.tolist()}
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}, "runs": {}, "arguments": {}}
    return {"report": "alignment", "command": "saccade report alignment --run runs/fr", "rows": [row], **about}


AREA = "“European Economic Area”"


@every(
    ("by", "changed", "result", "words"),
    [
        ("attention", {}, "reproduced", f"“zone économique européenne” is read at {AREA}; 3 of 21 pairs of words are "),
        ("attention", {"sure": 0.4}, "not decided", f"{AREA}, with 50.0% of the weight or less on some of it; "),
        ("attention", NOTHING, "contradicted", "no neighbours are read in another order than they are written; 0 of"),
        ("attention", REVERSED, "contradicted", "most pairs are crossed, so that this is no diagonal; 28 of 28 pairs"),
        ("jacobian", {}, "reproduced", f"“zone économique européenne” is moved most by {AREA}; 3 of 21 pairs of "),
        ("jacobian", {"sure": 0.4}, "not decided", f"{AREA}, with 50.0% of the row or less on some of it; "),
        ("jacobian", NOTHING, "contradicted", "no neighbours are moved most by words in another order than they are "),
        ("jacobian", REVERSED, "contradicted", "of tokens are crossed, 72.9% of a row is away in the mean"),
    ],
)
def test_the_weights_decide_by_either_look(by, changed, result, words):
    verdict = Findings(made_up(**changed, by=by)).verdict
    assert verdict.result == result and words in verdict.reason


def test_the_page_of_attention_is_complete(tmp_path):
    words = ["1409.0473", "**reproduced**", "| zone économique européenne | European Economic Area | 80.0 |"]
    words += ["| written | most weight on | weight, % | beyond 1 of the diagonal, % |", "| zone | Area |"]
    page = complete(STUDY, made_up(), tmp_path, [*words, "4,400 steps. Pieces of words"], "alignment")
    assert not any(word in page for word in ("Jacobian", "gradient", "share", "moves", "1610.10099", "{"))
    picture = described(tmp_path / "alignment.svg")
    assert (
        picture["title"].startswith("What was attended to: This agreement") and "Cet attends to This" in picture["desc"]
    )


def test_the_page_of_the_jacobian_names_no_attention(tmp_path):
    page = written(STUDY, made_up(by="jacobian"), tmp_path)
    words = ["1610.10099", "no explanation", "shares of the pieces of a source word"]
    words += ["| written | moved most by | share of the row, % |", "more spread than weights"]
    assert all(word in page for word in words)
    picture = described(tmp_path / "alignment.svg")
    assert "zone is moved most by Area" in picture["desc"]
    assert not any(word in text for text in (page, *picture.values()) for word in ("attend", "attention"))


def test_a_sentence_in_order_has_no_table_of_groups(tmp_path):
    page = written(STUDY, made_up(most=range(8), pieces=False), tmp_path)
    assert "Nothing is." in page and "Pieces of words" not in page


@given(ROWS)
def test_crossed_pairs_are_counted(most):
    assert crossed(most) == sum(most[j] < most[i] for i, j in combinations(range(len(most)), 2))
    assert crossed(sorted(most)) == 0


@given(ROWS)
def test_each_falling_neighbour_is_in_one_group(most):
    inside = [place for run in blocks(most) for place in run[:-1]]
    assert inside == [place for place in range(len(most) - 1) if most[place + 1] < most[place]]


@given(st.integers(1, 9), st.integers(1, 9))
def test_the_diagonal_is_the_same_from_behind(target, source):
    weights = torch.rand(target, source)
    torch.testing.assert_close(off_diagonal(weights).flip(0), off_diagonal(weights.flip(0, 1)))


def test_weight_beyond_the_margin_is_summed():
    weights = torch.tensor([[0.5, 0.0, 0.3, 0.2], [0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.8, 0.0], [0.0, 0.0, 0.0, 2.0]])
    assert off_diagonal(weights).tolist() == pytest.approx([0.5, 0.0, 0.1, 0.0])
    assert off_diagonal(weights, 2.0).tolist() == pytest.approx([0.2, 0.0, 0.0, 0.0])
    assert off_diagonal(torch.eye(6)[[0, 2, 5]], 0.5).tolist() == [0.0, 0.0, 0.0]  # diagonal 0.5, 2.5, 4.5
    assert off_diagonal(torch.eye(6)[[0, 2, 5]], 0.4).tolist() == [1.0, 1.0, 1.0]


def test_words_sum_over_source_and_average_over_own_pieces():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.4, 0.6]])
    found, source, target = by_words(weights, ["a", " ", "b"], [" x", "y", " z"])
    assert (source, target) == (["a", "b"], ["xy", "z"])
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.7], [0.0, 1.0]]))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return runs.train("translate", data=PAIRS, run=tmp_path_factory.mktemp("runs") / "own", **TINY)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run whose model does not attend."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    return runs.train("translate", data=PAIRS, model="encoder-decoder", run=folder, **TINY)


@pytest.fixture
def few(monkeypatch):
    """The training of --quick, for a step on few dates."""
    monkeypatch.setattr(codec, "_ENDLESS", 200)
    recipe = {"batch_tokens": 200, "threads": 1, "tokenizer": "characters", "max_steps": 1}
    monkeypatch.setitem(RECIPES, "dates", recipe)
    monkeypatch.setitem(recurrent.RECIPES, "dates", {"hidden_dim": 8, "embedding_dim": 6})
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)


def made(run, **options):
    return make(STUDY, Options(run=str(run.folder), text="satz 3 hier", threads=1, **options))


def row_of(folder):
    [row] = stored(folder)["rows"]
    return row


def moved(run, text):
    """The Jacobian's shares of the translation of a text, by the run's own model, without ends."""
    trained = load_trained(TRANSLATE, Run.open(run.folder), torch.device("cpu"))
    source = trained.task.read(text, 1)
    [answer] = trained.task.answer(trained.model, [source], None)
    return look.shares(jacobian(trained.model, source.ids, answer.outputs[0].ids))[:-1, :-1].tolist()


def test_an_attending_run_is_read_in_both_ways(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = made(run), made(run, by="jacobian")
    assert [one.folder.name for one in (first, second)] == ["alignment-own", "alignment-own-jacobian"]
    row, other = row_of(first.folder), row_of(second.folder)
    [answer] = run.align("satz 3 hier")
    best = answer["translations"][0]
    assert (row["translation"], row["source"], row["steps"]) == (best["text"], answer["source_tokens"][:-1], 1)
    assert row["weights"] == [[pytest.approx(each, abs=1e-4) for each in line[:-1]] for line in best["weights"][:-1]]
    assert other["weights"] == [pytest.approx(line, abs=1e-4) for line in moved(run, "satz 3 hier")] != row["weights"]
    assert row["translation"] in first.text and [row["by"], other["by"]] == ["attention", "jacobian"]
    with pytest.raises(ReportError, match="made with --by attention, not jacobian"):
        made(run, by="jacobian", output=str(first.folder))
    again = made(run, by="attention")  # the default
    assert first.fresh and not again.fresh and again.text == first.text


def test_a_run_without_attention_is_read_by_its_jacobian(plain, tmp_path):
    row = row_of(made(plain, output=str(tmp_path / "report")).folder)
    assert (row["by"], row["model"], len(row["source"])) == ("jacobian", "encoder-decoder", 3)
    assert row["weights"] == [pytest.approx(line, abs=1e-4) for line in moved(plain, "satz 3 hier")]
    with pytest.raises(ArgumentError, match="--by: expected jacobian for this run, got attention"):
        made(plain, by="attention", output=str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_every_command_of_the_docs_runs(run, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/fr").symlink_to(run.folder)
    commands = documented("alignment")
    assert len(commands) == 3
    assert all(main([*command, "--threads", "1"]) == 0 for command in commands)
    folders = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert folders == ["alignment-fr", "alignment-fr-jacobian", "alignment-quick"]
    row = row_of(tmp_path / "reports/alignment-quick")
    assert (row["text"], row["data"], row["by"]) == ("mercredi 18 juin 2025", "dates", "attention")


def test_the_folder_names_the_weights_unless_they_are_attention():
    assert [STUDY.measure(Options(quick=True, by=by)).data for by in (None, "attention", "jacobian")] == [
        "",
        "",
        "jacobian",
    ]


@every(
    ("options", "message"),
    [
        ({}, "--run: expected the folder of a translation run, or --quick, got neither"),
        ({"run": "runs/a", "quick": True}, "--run: expected the folder of a translation run, or --quick, got both"),
        ({"text": "  "}, "--text: expected a sentence, got spaces"),
        ({"by": "gradients"}, "--by: expected attention or jacobian, got gradients"),
    ],
)
def test_options_without_meaning_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        make(STUDY, Options(**options))


def test_a_run_of_another_task_is_rejected(tmp_path):
    options = {"model": "lstm", "longest": 2, "max_steps": 1, "device": "cpu"}
    copies = runs.train("memorize", data="copy", run=tmp_path / "copy", **options)
    with pytest.raises(ArgumentError, match="--run: expected a run of translate, got one of memorize"):
        made(copies)
