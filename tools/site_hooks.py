"""Hooks of ``mkdocs build``: pages from files outside ``docs``, and links that work in the repository and on the site.

The changelog, CONTRIBUTING.md and SECURITY.md are in the root of the repository, where people look for them, and become
pages. Links between them and ``docs`` are rewritten. Links to other files of the repository become text with the path:
the site does not contain these files. A link to a file that does not exist stays as it is, and the strict build fails.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
"""Files in the root of the repository, and the pages that they become."""

SAME = {"README.md": "index.md", "docs/decisions": "decisions/README.md"}
"""Other link targets that have a page."""

LINK = re.compile(r"\[([^]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")


def repository(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in PAGES.items():
        source = repository(config) / name
        if source.is_file():
            files.append(File.generated(config, page, content=source.read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri
    in_root = next((name for name, target in PAGES.items() if target == here), None)
    folder = PurePosixPath(in_root or f"docs/{here}").parent

    def rewritten(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = normpath(folder / path)
        inside = target.removeprefix("docs/") if target.startswith("docs/") else None
        inside = PAGES.get(target) or SAME.get(target) or inside
        if inside is not None:
            return f"[{text}]({relpath(inside, PurePosixPath(here).parent)}{anchor})"
        if (repository(config) / target).exists():
            return text if target in text else f"{text} (`{target}`)"
        return link[0]

    return LINK.sub(rewritten, markdown)
