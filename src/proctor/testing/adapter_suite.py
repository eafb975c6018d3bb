"""What every adapter must do."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.execute.agents.adapters.adapter_registry import adapter_problems, find_adapter, launch_problems
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order
from proctor.execute.agents.interface import ModelAccess

TASK = "Read /proctor/briefing.md & fix it: \"quotes\", 'more', $HOME, ünïcode"
ADDRESS = "http://127.0.0.1:4711"


class AdapterSuite:
    """Subclass with the ``name`` of an adapter."""

    name: str

    @property
    def adapter(self) -> Adapter:
        """The adapter, checked as before an installation."""
        return find_adapter(self.name)

    def launches(self, task: str = TASK) -> Iterator[Launch]:
        """What the adapter starts with each of its dialects, in each way that it can be started."""
        adapter = self.adapter
        for dialect in adapter.dialects:
            order = Order(task, ModelAccess(ADDRESS, "model-1"), dialect)
            for start in filter(None, (adapter.launch, adapter.acp)):
                yield start(order)

    def test_it_is_complete(self) -> None:
        problems = list(adapter_problems(self.adapter, self.name))
        assert not problems, problems

    def test_what_it_starts_is_valid_with_every_dialect(self) -> None:
        for launch in self.launches():
            problems = list(launch_problems(launch))
            assert not problems, problems

    def test_the_same_order_gives_the_same_launch(self) -> None:
        one, other = list(self.launches()), list(self.launches())
        assert one == other, (one, other)

    def test_the_agent_is_pointed_at_the_model(self) -> None:
        for launch in self.launches():
            told = [*launch.arguments, *launch.environment.values(), *launch.files.values()]
            told += [argument for command in launch.first for argument in command]
            assert any(ADDRESS in text for text in told), f"the address {ADDRESS} is not in {launch}"

    def test_the_task_arrives_unchanged(self) -> None:
        adapter = self.adapter
        for dialect in adapter.dialects:
            launch = adapter.launch(Order(TASK, ModelAccess(ADDRESS, "model-1"), dialect))
            texts = (*launch.arguments, *launch.environment.values(), *launch.files.values())
            assert any(TASK in text for text in texts), f"the task is not in {launch}"
