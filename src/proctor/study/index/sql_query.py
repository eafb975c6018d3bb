"""One SQL query over runs, executed where it can change nothing.

The rows are copied into a database in memory; then files, extensions, the network and every setting are closed for
good, and the question runs in a transaction that cannot write. A question is a single SELECT (or what the database
counts as one: FROM, VALUES, DESCRIBE, SUMMARIZE). Its memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from proctor.base.errors import UsageFault
from proctor.study.index.parquet_file import check, quoted, reading, selected

if TYPE_CHECKING:
    import duckdb

MEMORY = "1500MB"
FETCHED_ROWS = 2048
CLOSED = (
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET max_temp_directory_size = '0B'",
    "SET lock_configuration = true",
)
WHERE = "SELECT"
EXAMPLE = "select agent, count(*) from runs group by agent"
HINT = "the table is called runs; `proctor query --columns` names its columns"


@dataclass(frozen=True)
class QueryResult:
    """The names of the columns of an answer, and its rows as they come."""

    names: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class RunsDatabase:
    """A closed database over the rows of one Parquet file; make it with :meth:`over`, and close it."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._asked = False

    @classmethod
    def over(cls, path: Path) -> Self:
        """The rows of ``path`` as the table ``runs``; :class:`UsageFault` when they cannot be read."""
        import duckdb

        database = duckdb.connect(":memory:", config={"memory_limit": MEMORY, "temp_directory": ""})
        try:
            with reading(path):
                check(database, path)
                columns = selected(database, path)
                database.execute(f"CREATE TABLE runs AS SELECT {columns} FROM read_parquet({quoted(path)})")
            for setting in CLOSED:
                database.execute(setting)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def ask(self, sql: str) -> QueryResult:
        """The answer to ``sql``, which ends the one before; :class:`UsageFault` when it cannot be given."""
        import duckdb

        try:
            sql.encode()
        except UnicodeEncodeError:
            raise UsageFault("the question is not valid Unicode", where=WHERE, hint=f"such as: {EXAMPLE}") from None
        try:
            if self._asked:
                self._database.execute("ROLLBACK")
                self._asked = False
            statements = self._database.extract_statements(sql)
            kinds = [statement.type for statement in statements]
            if kinds != [duckdb.StatementType.SELECT]:
                raise UsageFault(_refusal(kinds), where=WHERE, hint=f"such as: {EXAMPLE}")
            self._database.execute("BEGIN TRANSACTION READ ONLY")
            self._asked = True
            self._database.execute(statements[0])
            names = tuple(column[0] for column in self._database.description or ())
        except duckdb.Error as error:
            raise UsageFault(_message(error), where=WHERE, hint=_hint(error)) from None
        return QueryResult(names, self._rows())

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        import duckdb

        try:
            while rows := self._database.fetchmany(FETCHED_ROWS):
                yield from rows
        except duckdb.Error as error:
            raise UsageFault(_message(error), where=WHERE, hint=_hint(error)) from None

    def close(self) -> None:
        """Forget everything."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refusal(kinds: list[duckdb.StatementType]) -> str:
    if not kinds:
        return "the query is empty"
    if len(kinds) > 1:
        return f"{len(kinds)} statements; give one"
    return f"only a SELECT can be executed, not {kinds[0].name}"


def _message(error: duckdb.Error) -> str:
    """The database's message, which names the place in the query."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return f"needs more memory than the {MEMORY} that a query may use"
    return str(error).strip().replace("\n\n", "\n").replace("\n", "\n  ")


def _hint(error: duckdb.Error) -> str:
    import duckdb

    if isinstance(error, duckdb.PermissionException | duckdb.TransactionException):
        return "a query can read only the table runs"
    if isinstance(error, duckdb.OutOfMemoryException):
        return "select fewer rows or columns, or sums"
    return HINT
