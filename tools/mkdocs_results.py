"""Pages of `results/` in the site, with links for the site and the repository."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page and picture of `results/`, outside the navigation."""
    root = Path(config.docs_dir).parent
    for path in sorted((root / "results").rglob("*")):
        if path.suffix in (".md", ".png", ".svg", ".gif"):
            name = path.relative_to(root).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links of a page of `docs/` to the added pages, and theirs to the pages of `docs/`."""
    if page.file.src_uri.startswith("results/"):
        return markdown.replace("](../../docs/", "](../../")
    up = "../" * page.file.src_uri.count("/")
    return markdown.replace(f"](../{up}results/", f"]({up}results/")
