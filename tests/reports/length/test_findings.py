from reports.conftest import row_of
from saccade.reports.length.findings import FEW_NOTE, Findings, summary


def test_the_table_has_a_row_a_length_and_the_slopes(content):
    found = Findings(content)
    assert found.verdict.result == "reproduced"
    header, first, *_, last = found.table()
    assert header == ["words in the source", "sentences", "rnnsearch", "encoder-decoder"]
    assert first == ["1-5", "100", "30.00 ± 1.13", "25.00 ± 1.13"]
    assert last[0] == "change in 10 words" and last[3].startswith("-15.00 ± ")


def test_what_seeds_differ_by_is_in_the_error(content):
    for row in content["rows"]:
        if (row["model"], row["seed"]) == ("rnnsearch", 2):
            row.update(row_of("rnnsearch", row["score"] + 2, seed=2))
    assert Findings(content).table()[1][2] == "31.00 ± 12.76"  # of seeds 1 by 12.71 (one degree), of sentences 1.13


def test_few_sentences_are_marked(content):
    assert FEW_NOTE not in summary(content)
    content["rows"][0]["few"] = True
    assert f"* {FEW_NOTE}" in summary(content) and "\n1-5 *" in summary(content)


def test_the_summary_ends_with_what_the_numbers_say(content):
    for row in content["rows"]:
        row.update(row_of(row["model"], 20.0, seed=row["seed"]))
    assert summary(content).splitlines()[-1].startswith("not decided: without attention the score falls: not decided")


def test_models_that_learned_nothing_decide_nothing(content):
    for row in content["rows"]:
        row.update(row_of(row["model"], 0.0, seed=row["seed"]))
    found = summary(content).splitlines()[-1]
    assert found == "not decided: nothing can be concluded: no model got anything right; train them longer"


def test_the_error_of_the_gain_excludes_shared_sentences(content):
    found = Findings(content)  # whose replicates go up and down together
    assert found.gain.found.error < 1e-9 < found.slopes["rnnsearch"].found.error
    for row in content["rows"]:
        if row["model"] == "rnnsearch":
            row["replicates"] = row["replicates"][::-1]
    assert Findings(content).gain.found.error > 0.01
