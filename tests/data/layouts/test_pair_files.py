import gzip

import pytest

from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.translate.data import open_corpus
from tiers import every

GERMAN = '<tuv xml:lang="de-AT"><seg><bpt i="1">&lt;b&gt;</bpt>satz <hi>{n}</hi></seg></tuv>'
UNIT = f'<tu>{GERMAN}<tuv xml:lang="EN"><seg>line {{n}}</seg></tuv></tu>'
OLD = (
    '<trans-unit id="{n}"><source>satz <g id="1">{n}</g><x id="2"/></source><target>line {n}</target>'
    "<alt-trans><source>other</source><target>another</target></alt-trans></trans-unit>"
)
NEW = '<unit id="{n}"><segment><source>satz <pc id="1">{n}</pc></source><target>line {n}</target></segment></unit>'
BODY = {
    "a.xlf": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="de-AT" '
    'target-language="en"><body><group>{}</group></body></file></xliff>',
    "a.xliff": '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de" trgLang="en">'
    '<file id="1">{}</file></xliff>',
}
UNITS = {"a.xlf": OLD, "a.xliff": NEW}


def written(path, units):
    path.write_text(f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>')
    return str(path)


def xliff(folder, name, count=40, more=""):
    (folder / name).write_text(BODY[name].format("".join(UNITS[name].format(n=n) for n in range(count)) + more))
    return str(folder / name)


def test_units_are_pairs_of_both_languages(tmp_path):
    units = "".join(UNIT.format(n=n) for n in range(40)) + '<tu><tuv xml:lang="fr"><seg>un</seg></tuv></tu>'
    corpus = open_corpus(written(tmp_path / "a.tmx", units), "de", "en")
    assert sum(corpus.size(split) for split in SPLITS) == 40
    pair = corpus.example("test", 0)
    assert pair.source.replace("satz", "line") == pair.target
    assert "left out 1 of 41 units, which have no de or no en" in corpus.note
    turned = open_corpus(str(tmp_path / "a.tmx"), "EN", "de-AT")
    assert turned.example("test", 0).source.startswith("line")


def test_a_language_that_is_missing_is_named(tmp_path):
    path = written(tmp_path / "a.tmx", UNIT.format(n=1))
    with pytest.raises(ArgumentError, match="--target: expected one of de, de-at, en, got fr for .*a.tmx"):
        open_corpus(path, "de", "fr")
    with pytest.raises(ArgumentError, match="--source: expected one of de, de-at, en, got none for"):
        open_corpus(path)
    (tmp_path / "a.tmx").write_text("<tmx><body><tu>")
    with pytest.raises(ArgumentError, match="a.tmx: expected a whole TMX file, got a damaged one"):
        open_corpus(path, "de", "en")


@every("languages", [("de", "de"), ("de-AT", "de-AT"), ("de", None)])
@every("sides", [(None, None), ("de", "en"), ("de", "de-AT")])
def test_tmx_of_one_language_is_refused(tmp_path, languages, sides):
    variants = [f'<tuv xml:lang="{language}"><seg>satz {{n}}</seg></tuv>' for language in languages if language]
    units = "".join(f"<tu>{''.join(variants)}</tu>".format(n=n) for n in range(40))
    message = f"a.tmx: expected a source and a target language, got {languages[0].lower()} for both"
    with pytest.raises(ArgumentError, match=message):
        open_corpus(written(tmp_path / "a.tmx", units), *sides)


def test_two_names_of_one_language_are_one_side(tmp_path):
    units = "".join(UNIT.format(n=n) for n in range(40))
    message = "--target: expected another side than --source, got de-AT, whose texts are those of de; name the other"
    for path in (written(tmp_path / "a.tmx", units), xliff(tmp_path, "a.xlf")):
        with pytest.raises(ArgumentError, match=message):
            open_corpus(path, "de", "de-AT")
    two = units.replace("</tu>", '<tuv xml:lang="de"><seg>anders</seg></tuv></tu>')
    corpus = open_corpus(written(tmp_path / "a.tmx", two), "de-AT", "de")
    assert corpus.example("test", 0).source.startswith("satz") and corpus.example("test", 0).target == "anders"


@every("name", list(BODY))
def test_xliff_knows_its_languages_and_may_be_turned(tmp_path, name):
    blank = UNITS[name].replace("line {n}", "").format(n=99)
    path = xliff(tmp_path, name, more=blank)
    corpus = open_corpus(path)
    examples = [corpus.example(split, n) for split in SPLITS for n in range(corpus.size(split))]
    pairs = {(pair.source, pair.target) for pair in examples}
    assert pairs == {(f"satz {n}", f"line {n}") for n in range(40)}
    assert "left out 1 of 41 units" in corpus.note
    assert open_corpus(path, "en", "de").example("test", 0).source.startswith("line")
    with pytest.raises(ArgumentError, match="--source: expected one of de, .*en, got fr for .*a.xl"):
        open_corpus(path, "fr", "en")


@every("name", list(BODY))
@every("language", ["de", "de-AT"])
def test_xliff_of_one_language_is_refused(tmp_path, name, language):
    path = tmp_path / name
    xliff(tmp_path, name)
    text = path.read_text().replace('"de-AT"', f'"{language}"').replace('"de"', f'"{language}"')
    path.write_text(text.replace('"en"', f'"{language}"'))
    message = f"{name}: expected a source and a target language, got {language} for both"
    with pytest.raises(ArgumentError, match=message):
        open_corpus(str(path))


def test_a_language_that_is_not_given_is_that_of_the_file(tmp_path):
    path = xliff(tmp_path, "a.xliff")
    for sides in (("de", None), (None, "en")):
        assert open_corpus(path, *sides).example("test", 0).target.startswith("line")
    with pytest.raises(ArgumentError, match="--target: expected another side than --source, got en for both; name"):
        open_corpus(path, "en")


def test_a_folder_has_a_file_of_each_split_packed_or_not(tmp_path):
    xliff(tmp_path, "a.xliff", 30)
    (tmp_path / "a.xliff").rename(tmp_path / "train.xliff")
    written(tmp_path / "a.tmx", UNIT.format(n=77))
    (tmp_path / "test.tmx.gz").write_bytes(gzip.compress((tmp_path / "a.tmx").read_bytes()))
    corpus = open_corpus(str(tmp_path), "de", "en")
    assert corpus.size("test") == 1 and corpus.example("test", 0).source == "satz 77"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)


@every(
    ("content", "message"),
    [
        (f"{BOMB}]><xliff><file><body><trans-unit><source>&j;</source></trans-unit></body></file></xliff>", "damaged"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff><source>&a;</source></xliff>', "damaged"),
        ("<xliff><file>", "expected a whole XLIFF file, got a damaged one"),
        ("", "expected a whole XLIFF file, got a damaged one"),
        ('<xliff srcLang="de" trgLang="en"><file/></xliff>', "expected units of a source and its target, found none"),
        (f"<xliff><segment><source>{'<g>' * 9000}{'</g>' * 9000}</source></segment></xliff>", "damaged"),
    ],
)
def test_a_hostile_file_is_one_line(tmp_path, content, message):
    (tmp_path / "a.xlf").write_text(content)
    with pytest.raises(ArgumentError, match=message) as error:
        open_corpus(str(tmp_path / "a.xlf"))
    assert "\n" not in str(error.value)
