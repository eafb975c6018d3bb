"""One task of the SWE-bench family with typed fields, from a record of any of its variants.

Lists may be JSON inside JSON; images, commands and parsers have different names in different sets. A parser given as
source is kept as text that nothing here compiles. A set whose gold patch makes the bug is refused, and so is a record
without what a contract needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.author.import_.import_record import Losses, Refused, shown
from proctor.base.canonical import NotJson, parse

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9._-]{1,100}")
COMMIT = re.compile(r"[0-9a-f]{40}")
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_IDS = 100_000
MAX_ID_CHARACTERS = 4000
PYTHON = frozenset({"", "python", "py"})
IMAGES = ("image", "image_name", "docker_image")
IGNORED = frozenset(
    {
        *("instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement", "FAIL_TO_PASS"),
        *("PASS_TO_PASS", "version", "created_at", "difficulty", "environment_setup_commit", "eval_type", "split"),
        *("datasets", "language", "eval_script", "log_parser", "requirements", "interface", "dockerfile", *IMAGES),
        *(
            "pull_number",
            "issue_numbers",
            "commit_urls",
            "commit_url",
            "test_cmds",
            "install_config",
            "meta",
            "license",
        ),
        *("hints_text", "all_hints_text", "pr_description", "image_assets", "print_cmds", "rebuild_cmds", "uuid"),
    }
)
"""Fields that are used, or that describe the task without changing how it is judged."""
HINTS = ("hints_text", "all_hints_text", "pr_description")


@dataclass(frozen=True)
class Instance:
    """A task with what a contract is made of."""

    id: str
    repo: str
    commit: str
    issue: str
    patch: bytes
    test_patch: bytes
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    version: str
    difficulty: str
    script: str
    """The evaluation script, or the test commands, one on each line."""
    image: str


def instance(record: Mapping[str, Any], losses: Losses) -> Instance:
    """The task in a record; :class:`Refused` where it has none that a contract can be made of."""
    name = _text(record, "instance_id")
    if not ID.fullmatch(name):
        raise Refused("bad-record", f"instance_id is {name[:120]!r}")
    if not _is_there(record, "test_patch"):
        is_reversed = _is_there(record, "patch") and _is_there(record, "image_name")
        raise Refused("reversed" if is_reversed else "bad-record", "" if is_reversed else "test_patch is missing")
    language = _text(record, "language", "")
    if language.lower() not in PYTHON:
        raise Refused("language", language)
    repo, commit = _text(record, "repo"), _text(record, "base_commit")
    if not REPOSITORY.fullmatch(repo) or ".." in repo:
        raise Refused("bad-record", f"repo is {repo[:120]!r}")
    if not COMMIT.fullmatch(commit):
        raise Refused("bad-record", f"base_commit is {commit[:120]!r}")
    _note(record, losses)
    fails = _ids(record, "FAIL_TO_PASS")
    if not fails:
        raise Refused("no-tests-that-fail")
    return Instance(
        name,
        repo,
        commit,
        _issue(record),
        _text(record, "patch").encode(),
        _text(record, "test_patch").encode(),
        fails,
        tuple(one for one in _ids(record, "PASS_TO_PASS") if one not in set(fails)),
        _text(record, "version", ""),
        _text(record, "difficulty", ""),
        _script(record),
        next((_text(record, field) for field in IMAGES if _is_there(record, field)), ""),
    )


def _note(record: Mapping[str, Any], losses: Losses) -> None:
    """Note what the contract will not have."""
    for field in HINTS:
        if _is_there(record, field):
            losses.add("hints", field)
    parser = record.get("log_parser") or _config(record).get("log_parser")
    if isinstance(parser, str) and ("\n" in parser or "def " in parser):
        losses.add("log-parser")
    assets = record.get("image_assets")
    if assets and assets != "{}":
        losses.add("assets")
    if record.get("rebuild_cmds"):
        losses.add("build", "rebuild_cmds")
    for field in sorted(str(key) for key in record):
        if field not in IGNORED and record[field] not in (None, "", [], {}):
            losses.add("field", field)


def _is_there(record: Mapping[str, Any], field: str) -> bool:
    value = record.get(field)
    return isinstance(value, str) and bool(value.strip())


def _text(record: Mapping[str, Any], field: str, missing: str | None = None) -> str:
    value = record.get(field)
    if value is None and missing is not None:
        return missing
    if not isinstance(value, str) or (missing is None and not value.strip()):
        raise Refused("bad-record", f"{field} is missing" if value is None else f"{field} is not text")
    if "\0" in value:
        raise Refused("bad-record", f"{field} has a NUL")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused("bad-record", f"{field} is not valid Unicode") from None
    return value


def _ids(record: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """A list of test ids, which may be JSON text; each once, in its order."""
    value = record.get(field)
    if isinstance(value, str):
        try:
            value = parse(value.encode("utf-8", "replace"))
        except NotJson:
            raise Refused("bad-record", f"{field} is text that is not JSON") from None
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refused("bad-record", f"{field} is not a list of test ids")
    if len(value) > MAX_IDS:
        raise Refused("bad-record", f"{field} has {len(value):,} ids")
    for one in value:
        wrong = "\n" in one or "\0" in one or SURROGATE.search(one)
        if not one.strip() or len(one) > MAX_ID_CHARACTERS or wrong:
            raise Refused("bad-record", f"{field} has the id {shown(one[:80])!r}")
    return tuple(dict.fromkeys(one.strip() for one in value))


def _issue(record: Mapping[str, Any]) -> str:
    """The text of the task; requirements and interface belong to it in the sets that have them."""
    parts = [_text(record, "problem_statement").replace("\r\n", "\n").strip()]
    for field in ("requirements", "interface"):
        if _is_there(record, field):
            parts.append(f"## {field.capitalize()}\n\n{_text(record, field).strip()}")
    return "\n\n".join(parts) + "\n"


def _config(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = record.get("install_config")
    return found if isinstance(found, dict) else {}


def _script(record: Mapping[str, Any]) -> str:
    if _is_there(record, "eval_script"):
        return _text(record, "eval_script")
    commands = record.get("test_cmds") or _config(record).get("test_cmd") or ()
    if isinstance(commands, str):
        commands = [commands]
    if not isinstance(commands, list | tuple) or not all(isinstance(one, str) for one in commands):
        raise Refused("bad-record", "the test commands are not text")
    return "\n".join(commands)
