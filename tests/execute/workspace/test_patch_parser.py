"""The text of patches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.workspace.patch_parser import (
    FilePatch,
    FileStat,
    NotAPatch,
    clarify,
    parse_patch,
    parse_stat,
    quote,
    unquote,
)

EDIT = b"""diff --git a/x.py b/x.py
index 1111111..2222222 100644
--- a/x.py
+++ b/x.py
@@ -1,3 +1,4 @@ def f():
 one
-two
--- a/not-a-header
+2
++++ b/neither
+diff --git a/no b/no
\\ No newline at end of file
"""


def test_counts_follow_the_hunk_header_and_nothing_inside_passes_for_one() -> None:
    assert parse_stat(EDIT) == (FileStat(b"x.py", 3, 2, False),)


def test_every_form_of_file() -> None:
    patch = b"".join(
        [
            b"diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n",
            b"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n",
            b"diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n",
            b"diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0000000\n",
            b'diff --git "a/caf\\303\\251\\n" "b/caf\\303\\251\\n"\nnew file mode 100644\nindex 0..1\n',
            b'--- /dev/null\n+++ "b/caf\\303\\251\\n"\n@@ -0,0 +1 @@\n+x\n',
            b"diff --git a/bin b/bin\nindex 0..1 100644\nGIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\n"
            b"literal 0\nHcmV?d00001\n\n",
            b"diff --git a/a b/c b/a b/c\nold mode 100755\nnew mode 100644\n",
            EDIT,
            b"--- a/plain\t2026-01-01\n+++ b/plain\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n",
        ]
    )
    assert parse_patch(patch) == (
        FilePatch(b"mode", b"mode", 0, 0, False),
        FilePatch(b"old", b"new", 0, 0, False),
        FilePatch(None, b"empty", 0, 0, False),
        FilePatch(b"gone", None, 0, 0, False),
        FilePatch(None, "café\n".encode(), 1, 0, False),
        FilePatch(b"bin", b"bin", 0, 0, True),
        FilePatch(b"a b/c", b"a b/c", 0, 0, False),
        FilePatch(b"x.py", b"x.py", 3, 2, False),
        FilePatch(b"plain", b"plain", 1, 1, False),
    )


def test_a_file_that_changes_its_type_counts_once() -> None:
    patch = (
        b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
        b"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    )
    assert parse_stat(patch) == (FileStat(b"x", 1, 2, False),)


def test_words_around_a_patch_are_passed_over() -> None:
    assert parse_stat(b"From: me\nSubject: x\n\n---\n x.py | 2 +-\n\n" + EDIT + b"-- \n2.39.5\n") == parse_stat(EDIT)
    assert parse_stat(b"") == () == parse_stat(b"nothing at all\n")


@pytest.mark.parametrize(
    "text",
    [
        b"--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n",
        b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\nwhat\n",
        b"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        b'diff --git "a/x b/x\n',
        b"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
        b"--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_text_without_the_form_of_a_patch(text: bytes) -> None:
    with pytest.raises(NotAPatch):
        parse_patch(text)


def test_names_with_spaces_are_quoted_in_the_line_that_git_leaves_unclear() -> None:
    mode = b"old mode 100644\nnew mode 100755\n"
    assert clarify(b"diff --git a/t /a b/t /a\n" + mode) == b'diff --git "a/t /a" "b/t /a"\n' + mode
    renamed = b"diff --git a/x y b/x y z\nsimilarity index 100%\nrename from x y\nrename to x y z\n"
    assert clarify(renamed) == renamed
    assert clarify(EDIT) == EDIT


@given(st.binary(max_size=40))
def test_quoting_has_an_inverse(path: bytes) -> None:
    assert unquote(quote(path) + b" rest") == (path, b" rest")


@given(st.binary(max_size=300), st.sampled_from([b"", b"diff --git ", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", EDIT]))
def test_any_bytes_are_read_or_refused(noise: bytes, start: bytes) -> None:
    try:
        parse_patch(start + noise)
    except NotAPatch:
        pass
