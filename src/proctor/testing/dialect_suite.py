"""What every dialect must do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from proctor.execute.gateway.dialects.dialect_routes import DIALECTS, dialect_problems, find_dialect
from proctor.execute.gateway.dialects.interface import GENERATE, Dialect, Refused, Route, Rules


class DialectSuite:
    """Subclass with the ``name`` of a dialect, a ``path`` that asks a model, a ``body``, and an ``answer`` to it."""

    name: str
    path: str
    body: Mapping[str, Any]
    answer: Mapping[str, Any]
    text: str
    """The text of the answer."""

    @property
    def dialect(self) -> Dialect:
        """The dialect, checked."""
        return find_dialect(self.name)

    def route(self) -> Route:
        """Where a request for the path goes."""
        found = self.dialect.route("POST", self.path)
        assert found is not None, f"route() does not know POST {self.path}"
        return found

    def test_it_has_every_method(self) -> None:
        problems = list(dialect_problems(self.dialect, self.name)) if self.name not in DIALECTS else []
        assert not problems, problems

    def test_it_knows_its_own_paths_alone(self) -> None:
        route = self.route()
        assert route.dialect == self.name and route.kind == GENERATE, route
        for method, path in (("POST", "/no/such/path"), ("DELETE", self.path)):
            other = self.dialect.route(method, path)
            assert other is None, other

    def test_a_request_is_read(self) -> None:
        asked = self.dialect.asked(deepcopy(dict(self.body)), self.route())
        model = self.route().model or self.body.get("model")
        assert asked.model == model, f"asked() names the model {asked.model!r}; the route or the body {model!r}"
        assert asked.messages, asked

    def test_a_request_stays_json_and_keeps_what_is_inside_of_its_fields(self) -> None:
        body = deepcopy(dict(self.body))
        changes = self.dialect.prepare(body, self.route(), Rules())
        assert all(isinstance(change, str) for change in changes), changes
        json.dumps(body)
        assert all(body[name] == value for name, value in self.body.items() if name in body), body
        path = self.dialect.forwarded_path(self.route(), Rules())
        assert path.startswith("/"), path

    def test_an_answer_can_be_limited(self) -> None:
        body = deepcopy(dict(self.body))
        name = self.dialect.limit(body, 77)
        asked = self.dialect.asked(body, self.route())
        assert isinstance(name, str) and asked.max_output == 77, (name, asked)

    def test_requests_that_are_not_as_they_must_be_are_refused(self) -> None:
        for wrong in (None, 7, "text", [7], {"a": 1}):
            for name in self.body:
                try:
                    self.dialect.asked({**self.body, name: wrong}, self.route())
                except Refused:
                    continue

    def test_an_answer_is_read(self) -> None:
        answered = self.dialect.answered(deepcopy(dict(self.answer)))
        assert answered.message.text == self.text, answered
        assert answered.usage is None or answered.usage.input_tokens >= 0, answered

    def test_any_json_is_read_as_an_answer(self) -> None:
        answers: tuple[Any, ...] = ({}, [], None, "text", 7, dict.fromkeys(self.answer))
        for answer in answers:
            self.dialect.answered(answer)
        for name in self.answer:
            for wrong in (None, 7, "text", [7], [None], {"a": 1}):
                self.dialect.answered({**self.answer, name: wrong})

    def test_errors_and_keys_are_spelled_for_its_clients(self) -> None:
        error, headers = self.dialect.error(429, "budget", "too much"), self.dialect.headers("secret-1")
        assert "too much" in json.dumps(error), error
        assert any("secret-1" in value for value in headers.values()), headers
