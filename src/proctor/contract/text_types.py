"""The kinds of text and number that fields of a contract hold: names, paths, globs, digests, addresses, codes.

Each describes the expected text, for messages. Patterns are of the dialect that Python and JSON Schema share.
"""

from __future__ import annotations

from proctor.contract.composite_types import ListOf
from proctor.contract.scalar_types import ANY_TEXT, Text, Whole

WEEK_SECONDS = 7 * 24 * 3600

_STEP = r"(?!\.{1,2}(?![^/]))[^/\u0000]+"
_RELATIVE = rf"{_STEP}(?:/{_STEP})*"
_GLOB_STEP = r"(?:\*\*|(?!\.{1,2}(?![^/]))(?:[^/*\[\u0000]|\*(?!\*)|\[[!^]?[^/\u0000][^\]/\u0000]*\])+)"
_GLOB = rf"{_GLOB_STEP}(?:/{_GLOB_STEP})*/?"
_ARCHIVE = rf"https?://[^\u0000-\u0020]+|(?!-){_RELATIVE}"
_TAKEN = "workspace|setup|inputs|results|proctor|proc|dev|sys|usr|bin|lib|lib64|sbin"
_OWN = "workspace|setup|inputs|results|proctor|agent|proc|dev|sys|run|tmp"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_PORT = r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

NAME = Text("a name of lower-case letters, digits, '.', '_' and '-'", r"[a-z0-9][a-z0-9._-]{0,99}")
KEY = Text("a key of letters, digits, '.', '_' and '-'", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TEXT = Text("text")
ANY = Text("text", ANY_TEXT, empty=True)
FILE = Text("a path inside the contract's directory (no leading /, no . or .. steps)", _RELATIVE)
IN_TREE = Text("a path inside the tree (no leading /, no . or .. steps)", _RELATIVE)
TO = Text(IN_TREE.expected, _RELATIVE, empty=True)
DIRECTORY = Text("an absolute path inside the sandbox such as /workspace/src", rf"/(?:{_RELATIVE})?")
OUTSIDE = Text(
    "an absolute path outside /workspace and the sandbox's own directories, such as /etc/tool.cfg",
    rf"(?!/(?:{_TAKEN})(?![^/]))/{_RELATIVE}",
)
GLOB = Text(
    "a glob relative to the tree (** is alone between slashes, every [ has its ], no leading / and no . or ..)",
    _GLOB,
)
IN_IMAGE = Text(
    "an absolute path or glob in the image, outside the sandbox's own directories, such as /testbed/.git or /**/.git",
    rf"(?!/(?:{_OWN})(?![^/]))/{_GLOB}",
)
VARIABLE = Text(
    "a variable's name (letters, digits and _, and PROCTOR_… is the harness's own)",
    r"(?!PROCTOR_)[A-Za-z_][A-Za-z0-9_]*",
)
SHA256 = Text("a SHA-256 digest of 64 lower-case hexadecimal digits", r"(?:sha256:)?[0-9a-f]{64}")
COMMIT = Text("a full commit id of 40 lower-case hexadecimal digits", r"[0-9a-f]{40}")
ROOT = Text("sha256: and 64 lower-case hexadecimal digits", r"sha256:[0-9a-f]{64}", empty=True)
LAYER = Text(ROOT.expected, ROOT.pattern)
FILE_NAME = Text("a file name without slashes", r"(?![-.])[^/\u0000-\u001f]+")
GIT = Text("a path or an address of a git repository", r"(?!-)(?![A-Za-z0-9+.-]*::)[^\u0000-\u001f]+")
ARCHIVE = Text("a path inside the contract's directory or an http(s) address", _ARCHIVE)
PYPI = Text("name==version", r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*")
NPM = Text("name@version", r"(?:@[A-Za-z0-9~_][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*@[0-9][A-Za-z0-9.+-]*")
DEB = Text("name==version", r"[a-z0-9][a-z0-9+.-]+==[0-9A-Za-z][A-Za-z0-9.+:~-]*")
STRIP = Whole(0, 64)
SECONDS = Whole(1, WEEK_SECONDS)
SPECS = {"archive": ARCHIVE, "pypi": PYPI, "npm": NPM, "deb": DEB}
GLOBS = ListOf(GLOB, unique=True)
ADDRESS = Text(
    "a host in lower case and a port, such as example.org:443 or *.example.org:443", rf"(?:\*\.)?{_HOST}:{_PORT}"
)
REGISTRY = Text("a host in lower case, and a port if it is an unusual one", rf"{_HOST}(?::{_PORT})?")
COMMAND_PATTERN = Text(
    "a part of a command line, in which * matches any characters; * alone is not allowed",
    r"(?=[^\u0000]*[^* \u0000])(?! )[^\u0000-\u001f]+",
)
CODE = Text("the code of an alert, such as write-outside", r"[a-z][a-z0-9_-]{0,99}")
CODES = Text(
    "the code of an alert, or of a family such as syscall-*",
    rf"{CODE.pattern}|[a-z](?:[a-z0-9_-]{{0,96}}[a-z0-9_])?-\*",
)
RULE_ID = Text("the id of a rule (letters, digits, '.', '_' and '-')", KEY.pattern)
