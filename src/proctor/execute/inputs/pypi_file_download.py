"""A program for pip's interpreter: find files in the configured index and fetch them, without building anything.

It reads one JSON request from standard input (``directory``, ``python``, and ``files`` or ``releases``) and prints the
names of the files it wrote as a JSON list. Exit code 2: the index does not list what was asked for; 1: anything else,
mostly an index out of reach, with the reason in the last line of standard error. It uses pip's index reader and
connection, so that mirrors, proxies, certificates and credentials are those of the machine, and nothing of Proctor,
because it runs on an interpreter that does not have it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from importlib import import_module
from typing import Any

MAX_FILE_BYTES = 2 << 30
CHUNK_BYTES = 1 << 20
ARCHIVES = (".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz")


class NotThere(Exception):
    """The index answered, and does not have it."""


class Trouble(logging.Handler):
    """Notices when pip skips a page of the index that it could not read; one that does not exist is an answer."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.message = ""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith(("Could not fetch URL", "Retrying")) and "404 Client Error" not in text:
            self.message = text


def main() -> int:
    request = json.loads(sys.stdin.buffer.read())
    command = import_module("pip._internal.commands").create_command("download")
    options, _ = command.parse_args(["--quiet", "--python-version", request["python"]])
    target = import_module("pip._internal.cli.cmdoptions").make_target_python(options)
    trouble = Trouble()
    for name in ("pip._internal.index.collector", "pip._vendor.urllib3.connectionpool"):
        logging.getLogger(name).addHandler(trouble)
        logging.getLogger(name).setLevel(logging.DEBUG)
    with command.main_context():
        session = command._build_session(options)
        finder = command._build_package_finder(options, session, target_python=target, ignore_requires_python=True)
        try:
            links = chosen(finder, request)
        except NotThere as error:
            print(f"error: {trouble.message}" if trouble.message else error, file=sys.stderr)
            return 1 if trouble.message else 2
        for link in links:
            download(session, link, os.path.join(request["directory"], link.filename))
    print(json.dumps([link.filename for link in links]))
    return 0


def chosen(finder: Any, request: dict[str, Any]) -> list[Any]:
    """The links to the requested files."""
    if "releases" in request:
        return [release_link(finder, **release) for release in request["releases"]]
    links = []
    for file in request["files"]:
        found = [one.link for one in finder.find_all_candidates(file["project"]) if one.link.filename == file["name"]]
        if not found:
            raise NotThere(file["name"])
        links.append(found[0])
    return links


def release_link(finder: Any, project: str, version: str, form: str) -> Any:
    """The link to one release: its source archive, or its best wheel, and the source only if there is no wheel."""
    exact = import_module("pip._vendor.packaging.version").Version(version)
    found = [one for one in finder.find_all_candidates(project) if one.version == exact]
    sources = [one.link for one in found if one.link.filename.endswith(ARCHIVES)]
    wheels = [one for one in found if one.link.is_wheel]
    if form == "wheel" and wheels:
        return finder.make_candidate_evaluator(project).sort_best_candidate(wheels).link
    if not sources:
        raise NotThere(f"sources of {project}=={version}")
    return sorted(sources, key=lambda link: [link.filename.endswith(end) for end in ARCHIVES], reverse=True)[0]


def download(session: Any, link: Any, path: str) -> None:
    """Fetch ``link`` whole into ``path``."""
    answer = session.get(link.url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True)
    answer.raise_for_status()
    total = 0
    with open(path, "wb") as file:
        for data in iter(lambda: answer.raw.read(CHUNK_BYTES), b""):
            total += len(data)
            if total > MAX_FILE_BYTES:
                raise OSError(f"{link.filename} is larger than {MAX_FILE_BYTES} bytes")
            file.write(data)
    announced = answer.headers.get("Content-Length")
    if announced is not None and int(announced) != total:
        raise OSError(f"{link.filename}: {total} of {announced} bytes arrived")


if __name__ == "__main__":
    sys.exit(main())
