"""The linter of names and prose."""

import pytest

from scripts import script

PROSE = script("tools/prose.py")

LONG = " ".join(["word"] * 36) + "."
GOOD = {
    "a summary": '"""Attention over keys."""',
    "an imperative, then details": '"""Return the mask.\n\nIt is boolean; True allows.\n"""',
    "a boolean": 'def f():\n    """Whether a row is empty."""',
    "a formula": f'"""Scores.\n\n    {LONG}\n\nMore.\n"""',
    "a doctest": f'"""Scores.\n\n>>> 1\n{LONG}\n"""',
    "an entry of a section": '"""Scores.\n\nArgs:\n    x: a tensor.\n    y: another.\n"""',
    "a question": "# What is a head?",
    "two short halves": "# True allows; False forbids.",
    "two sentences": f"# {LONG[:99]}. Word {LONG[:99]}.",
    "code in a sentence": "# Call `given` first.",
    "a name in an attribute that is read": "x = y.found",
    "a part of a name": "given_mask = own_rows = 1",
}
BAD = {
    "name": [
        "found = 1",
        "def f(own): ...",
        "self.given = 1",
        "for one in x: ...",
        "def told(): ...",
        "class Known: ...",
    ],
    "first-line": [
        f'"""{"long " * 17}."""',
        '"""The mask of a call\nand its keys."""',
        '"""Where a mask allows."""',
        '"""How heads are divided."""',
        '"""The number that is drawn."""',
        '"""A key which no query reads."""',
    ],
    "long-sentence": [f"# {LONG}", f'"""Scores.\n\nArgs:\n    x: {LONG}\n"""', f'raise E(f"{LONG} {{x}}")'],
    "verb": ["# A mask is told here.", '"""Masks.\n\nThe length must be said.\n"""', 'raise E("no key is wanted")'],
    "headless": ["# What is masked is 0.", "# The rows of what is read.", "# Errors: what fails."],
    "semicolon": [f"# {LONG[:80]}; no."],
}


@pytest.fixture
def faults(tmp_path):
    def rules(text, name="file.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return [rule for _, rule, _ in PROSE.read(path)[1]]

    return rules


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_good_text_passes(text, faults):
    assert faults(text) == []


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in BAD.items() for text in texts])
def test_bad_text_breaks_one_rule(rule, text, faults):
    assert faults(text) == [rule]


@pytest.mark.parametrize("text", [f"```\n{LONG}\n```", f"| {LONG} |", f"$$\n{LONG}\n$$", f"# {LONG}", f"`{LONG}`"])
def test_code_tables_and_formulas_of_pages_are_left_out(text, faults):
    assert faults(text, "page.md") == []


def test_items_of_a_page_are_sentences_of_their_own(faults):
    half = LONG[:100]
    assert faults(f"- {half}\n- {half}", "page.md") == []
    assert faults(f"{half}\n{half}", "page.md") == ["long-sentence"]


def test_words_of_a_link_count_and_its_target_does_not(faults):
    assert faults("[a](what%20is%20said.md) is told", "page.md") == ["verb"]


def test_lines_are_those_of_the_paragraph(tmp_path):
    path = tmp_path / "file.py"
    path.write_text('"""Scores.\n\nA mask is told.\n"""\n\nfound = 1\n', encoding="utf-8")
    assert PROSE.read(path)[1] == [(3, "verb", "A mask is told."), (6, "name", "found")]


def test_the_paths_of_the_settings_are_clean(capsys):
    assert PROSE.main([]) == 0, capsys.readouterr().out


def test_an_exception_excuses_one_fault(tmp_path, monkeypatch, capsys):
    (tmp_path / "file.py").write_text("found = own = 1\n", encoding="utf-8")
    settings = '[tool.prose]\npaths = ["file.py"]\nexceptions = ["file.py: name: own", "file.py: name: given"]\n'
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setattr(PROSE, "ROOT", tmp_path)
    assert PROSE.main([]) == 1
    lines = ["file.py:1: name: found", "pyproject.toml: exception that excuses nothing: file.py: name: given"]
    assert capsys.readouterr().out.splitlines() == lines


SITE = """# A title

Two words. Three short words.

| a | table |

<!-- tools/write.py writes this table -->

Not by hand.

<!-- end of the table -->

- A `code` word.
"""


def test_lengths_of_pages_are_compared_with_their_limits(tmp_path, monkeypatch, capsys):
    settings = '[tool.prose]\npaths = []\nexceptions = []\nmean = 3\nwords = {docs = 20, "README.md" = 8}\n'
    (tmp_path / "docs").mkdir()
    pages = {"docs/a.md": SITE, "docs/b.md": "Four words in all.", "README.md": "| 9 | words | of a table |\n\nA word."}
    for name, text in {"pyproject.toml": settings, **pages}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(PROSE, "ROOT", tmp_path)
    assert PROSE.main([]) == 1
    table = [
        "docs                 12 of     20 words,  3.0 a sentence",
        "README.md             7 of      8 words,  2.0 a sentence",
        "docs/b.md: 4.0 words a sentence, more than 3",
    ]
    assert capsys.readouterr().out.splitlines() == table
    (tmp_path / "pyproject.toml").write_text(settings.replace("20", "11").replace("= 3", "= 4"), encoding="utf-8")
    assert PROSE.main([]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == ["docs: 12 words, more than 11"]


def test_figures_count_words_and_sentences(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(PROSE, "ROOT", tmp_path)
    for name, text in {"src/a.py": '"""Two words. Three short words; told."""', "docs/a.md": "A word."}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert PROSE.main(["--all"]) == 0
    docstrings, _, pages, _ = capsys.readouterr().out.splitlines()
    assert docstrings == "docstrings of src: 1 files, 6 words, 3.0 words a sentence, 166.7 semicolons a thousand"
    assert pages == "pages of docs: 1 files, 2 words, 2.0 words a sentence, 0.0 semicolons a thousand"
