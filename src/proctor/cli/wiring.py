"""The one place where names, environment variables and files become objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.base.clock import SystemClock, system_entropy
from proctor.base.errors import InfrastructureFault, ProctorError, UsageFault
from proctor.base.files import read_bounded
from proctor.base.frozen import EMPTY
from proctor.cli.agent_options import asked_agent, kind_of
from proctor.cli.known import require_agent
from proctor.conduct.machine import Machine
from proctor.conduct.watcher import Interrupted
from proctor.contract.model import Contract
from proctor.execute.agents.agent_file import parse_agent
from proctor.execute.agents.description import at_fault
from proctor.execute.agents.interface import REASONS, Agent, AgentDescription, AgentRequest, Ending, Scene
from proctor.execute.agents.registry import NO_MODEL, WITHOUT_MODEL, make_agent, package_of
from proctor.execute.agents.resolve import resolve
from proctor.execute.agents.with_options import WithOptions
from proctor.execute.home import Home
from proctor.execute.prepare import Prepared
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Mount
from proctor.execute.watch.prices import TABLE_BYTES, PriceTable, load_prices

if TYPE_CHECKING:
    from proctor.conduct.model import ModelPlan
    from proctor.execute.sandbox.container.backend import ContainerBackend
    from proctor.execute.sandbox.container.engine import Engine
    from proctor.record.shelf import Shelf


def home() -> Home:
    """The home directory that the environment names."""
    return Home.from_environment(os.environ)


def machine(judge_slots: int | None = None) -> Machine:
    """This machine, after a sweep of what dead runs left behind; ``judge_slots`` is how many checks may run at once."""
    from proctor.conduct.sweep import sweep_home

    place = home()
    place.create()
    problem = place.shared()
    if problem:
        click.echo(f"proctor: warning: {problem}", err=True)
    sweep_home(place)

    def containers(layers: tuple[str, ...], hide: tuple[str, ...]) -> ContainerBackend:
        from proctor.execute.sandbox.container.backend import ContainerBackend

        return ContainerBackend(place.sessions, engine().path, layers, hide)

    return Machine(place, BubblewrapBackend(place.sessions), containers, SystemClock(), system_entropy, judge_slots)


def engine() -> Engine:
    """The container engine that the environment names, or one at a usual place."""
    from proctor.base.errors import MissingIsolation
    from proctor.execute.sandbox.container.engine import Engine, find_socket

    path = find_socket(os.environ)
    if not path:
        raise MissingIsolation(
            "no container engine was found", hint="start Docker or podman, or name its socket in DOCKER_HOST"
        )
    return Engine(path)


def export_image(contract: Contract, path: Path) -> None:
    """Write the files of the image of ``contract`` to ``path``, a tar archive."""
    from proctor.execute.sandbox.container.backend import ContainerBackend

    ContainerBackend(home().sessions, engine().path, contract.environment.image).export(path)


def shelf() -> Shelf:
    """The runs of the home directory."""
    from proctor.record.shelf import Shelf

    return Shelf(home().runs)


def key_file(name: str, suffix: str) -> Path:
    """The file of a key: a path, or the name of a key of the home, whose halves end in ``.key`` and ``.pub``."""
    path = Path(name)
    return path if "/" in name or path.exists() else home().keys / f"{name.removesuffix(suffix)}{suffix}"


def agent_for(
    words: str, files: str, prepared: Prepared, machine: Machine, model: str = "", settings: Mapping[str, str] = EMPTY
) -> Agent:
    """The agent that ``words`` name, for one prepared contract and the model it is to use."""
    from proctor.conduct.reference import reference_patch

    def reference() -> bytes:
        with machine.scratch("reference") as scratch:
            return reference_patch(prepared, scratch)

    return _made(_request(machine, words, files, model, settings, reference))


def acts_in_sandbox(words: str) -> bool:
    """Whether the agent that ``words`` name acts in a sandbox, and does not just hand over a patch."""
    return kind_of(words) not in WITHOUT_MODEL


class PlugIn:
    """An agent of another package. Whatever fails in its code makes its own run invalid and ends nothing else."""

    def __init__(self, agent: Agent, kind: str, package: str) -> None:
        self.needs_sandbox = agent.needs_sandbox
        self._agent = agent
        self._kind, self._package = kind, package
        self._name = f"the agent {kind!r} of the package {package}"

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the options set for the agent and for what it starts."""
        return self._agent.variables if isinstance(self._agent, WithOptions) else EMPTY

    def describe(self) -> AgentDescription:
        with blamed(self._kind, self._package):
            return self._agent.describe()

    def mounts(self) -> tuple[Mount, ...]:
        with blamed(self._kind, self._package):
            return self._agent.mounts()

    def act(self, scene: Scene) -> Ending:
        """Let the agent act; :class:`InfrastructureFault` for an error in its code."""
        try:
            ending = self._agent.act(scene)
        except (Interrupted, ProctorError, OSError):
            raise
        except (Exception, SystemExit) as error:
            raise InfrastructureFault(f"{self._name} failed: {type(error).__name__}: {error}") from error
        if not isinstance(ending, Ending) or ending.reason not in REASONS or not isinstance(ending.patch, bytes | None):
            raise InfrastructureFault(f"{self._name} failed: act() does not return a valid Ending")
        return ending


def _made(request: AgentRequest) -> Agent:
    """The agent of ``request``. An exception in the code of another package is reported as an error of that package."""
    package = package_of(request.argument.partition("@")[0] if request.kind == "acp" else request.kind)
    with blamed(request.kind, package):
        agent = make_agent(request)
    return PlugIn(agent, request.kind, package) if package else agent


@contextmanager
def blamed(kind: str, package: str) -> Iterator[None]:
    """Report an exception inside as an error of ``package``; as it is if there is no package."""
    try:
        yield
    except ProctorError:
        raise
    except (Exception, SystemExit) as error:
        if not package:
            raise
        raise at_fault(kind, package, f"{type(error).__name__}: {error}") from None


def planned_model(words: str, model: str, settings: Mapping[str, str]) -> ModelPlan | None:
    """The model of a run of the agent ``words``, by the settings of its batch; nothing where none was asked for."""
    if not model:
        return None
    from proctor.cli.models import plan_model, settings_of_model

    return plan_model(model, settings_of_model(model, settings, asked_agent(words, settings)))


def _request(
    machine: Machine,
    words: str,
    files: str,
    model: str,
    settings: Mapping[str, str],
    reference: Callable[[], bytes],
) -> AgentRequest:
    asked = asked_agent(words, settings)
    kind, version, argument = parse_agent(asked.agent)
    require_agent(kind)
    dialects: tuple[str, ...] = ()
    if model:
        from proctor.cli.models import dialects_of, settings_of_model

        dialects = dialects_of(model, settings_of_model(model, settings, asked))
    brings = bool(files or asked.wanted.skills)
    copied_to = machine.place_of_copies(kept=not settings.get("redact_secrets")) if brings else None
    hint = f"proctor agents install {asked.path}"
    options, provided = resolve(asked.wanted, machine.home.agents, copied_to, machine.copies, hint)
    return AgentRequest(
        kind=kind,
        argument=argument,
        files=Path(files) if files else None,
        reference=reference,
        model=model.partition("/")[2],
        dialects=dialects,
        installations=machine.home.agents,
        copies=machine.copies,
        copied_to=copied_to,
        version=version,
        name=asked.name,
        options=options,
        provided=provided,
    )


def read_prices(path: str) -> PriceTable | None:
    """The price table at ``path``; nothing where none was named."""
    if not path:
        return None
    try:
        return load_prices(read_bounded(Path(path), TABLE_BYTES), path)
    except OSError as error:
        raise UsageFault(f"the price table cannot be read: {error.strerror}", where=path) from None


def require_prices(prices: PriceTable | None, path: str, models: Iterable[str]) -> None:
    """Refuse a price table without prices for one of ``models``: no limit in dollars would hold its calls."""
    for model in models:
        if prices is not None and not prices.covers(model):
            raise UsageFault(
                f"the price table has no prices for the model {model[:100]!r}: rows for it must price llm_input and "
                "llm_output, or llm_request",
                where=path,
                hint="proctor prices import --model PROVIDER/NAME prints the rows of a model",
            )


def described_agent(
    machine: Machine, words: str, files: str, model: str, settings: Mapping[str, str]
) -> AgentDescription:
    """What identifies the agent that is asked for; what is wrong with the words is said before anything is begun."""
    planned_model(words, model, settings)
    return identified_agent(machine, words, files, model, settings)


def identified_agent(
    machine: Machine, words: str, files: str, model: str, settings: Mapping[str, str]
) -> AgentDescription:
    """The same where no key is needed yet, because nothing is run."""
    kind = kind_of(words)
    if model and kind in NO_MODEL:
        program = ", or as 'endpoint:PROGRAM ARGUMENTS'" if kind == "command" else ""
        hint = f"run it without --model{program}"
        raise UsageFault(f"the agent {kind} uses no model", where=f"--model {model}", hint=hint)
    return _made(_request(machine, words, files, model, settings, bytes)).describe()


def refuse_secrets_in_files(contract: Contract, words: str, files: str, settings: Mapping[str, str]) -> None:
    """An agent must not be handed the contract or Proctor's home: they hold hidden files and the reference.

    This is about its files, its rules and its skills.
    """
    wanted = asked_agent(words, settings).wanted
    for path in filter(None, (files, *wanted.rules, wanted.skills)):
        shown = Path(path).resolve()
        for held, what in ((contract.directory.resolve(), "the contract"), (home().path.resolve(), "Proctor's home")):
            if held.is_relative_to(shown) or shown.is_relative_to(held):
                raise UsageFault(f"the agent's files and {what} overlap", where=path)
