"""What the tests of all pages ask."""

from xml.etree import ElementTree


def written_twice(write_page, content, folder):
    """The names of a page's files, and its Markdown; the same content is the same bytes."""
    for name in ("a", "b"):
        (folder / name).mkdir()
        write_page(folder / name, content)
    first, second = (sorted((folder / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    html = (folder / "a/index.html").read_text(encoding="utf-8")
    assert "<svg" in html and "<script" not in html and " src=" not in html
    return [path.name for path in first], (folder / "a/index.md").read_text(encoding="utf-8")


def told(svg):
    """What a picture says in words: by "title" and "desc"."""
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    return {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
