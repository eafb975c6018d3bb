"""The parts of a contract as frozen data, after loading: paths are checked, files carry their digests.

``contract.load`` makes these from YAML and ``contract.digest`` turns them into the canonical form that the content id
covers. A field called ``sha256`` holds 64 lower-case hexadecimal digits. Limits carry their unit in their name. Nothing
here touches the disk. The classes of policy and budget are in ``contract.policy`` and are exported here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.contract.policy import Ask as Ask
from proctor.contract.policy import Budget as Budget
from proctor.contract.policy import Checkpoints as Checkpoints
from proctor.contract.policy import Dependencies as Dependencies
from proctor.contract.policy import NamedFile as NamedFile
from proctor.contract.policy import Network as Network
from proctor.contract.policy import Policy as Policy
from proctor.contract.policy import Rollback as Rollback
from proctor.contract.policy import Stages as Stages
from proctor.contract.policy import TextRules as TextRules

KINDS = (
    "bug-fix",
    "refactor",
    "dependency-upgrade",
    "api-migration",
    "documentation",
    "hardening",
    "feature",
)
GATES = ("build", "static", "acceptance")
LAYERS = ("unit", "integration", "e2e")
RESULT_FORMATS = ("exit-code", "pytest", "junit", "tap", "reward")
DECISIONS = ("all", "majority", "any")
AUDIENCES = ("setup", "judge")
SOURCES = ("archive", "pypi", "npm", "deb")
REPEATS = ("once", "after_patch")
SANDBOXES = ("host", "image")
REQUIREMENTS = ("cgroup", "overlay")


@dataclass(frozen=True)
class Targets:
    """What the task is expected to change; it makes the task less ambiguous and has no other effect."""

    modules: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    behaviour: str = ""


@dataclass(frozen=True)
class Task:
    """What the agent is asked to do."""

    issue: NamedFile
    issue_text: str
    hints: tuple[str, ...] = ()
    targets: Targets = Targets()
    ambiguities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where bytes come from: ``kind`` is one of ``SOURCES`` or of a plug-in.

    ``spec`` is a path inside the contract's directory or an address (archive), ``name==version`` (pypi, deb) or
    ``name@version`` (npm). ``files`` are what it resolves to, by file name and digest.
    """

    kind: str
    spec: str
    files: tuple[InputFile, ...] = ()


@dataclass(frozen=True)
class InputFile:
    """One file of a source: its name and what its bytes must be."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Submodule:
    """A submodule: its path in the tree, its source and its commit."""

    path: str
    git: str
    commit: str


@dataclass(frozen=True)
class GitRepository:
    """A commit of a git repository; ``git`` is a path (relative to the contract) or an address."""

    git: str
    commit: str
    submodules: tuple[Submodule, ...] = ()


@dataclass(frozen=True)
class ArchiveRepository:
    """An archive, local or fetched by name, with its digest; ``strip`` leading directories are taken off."""

    source: Source
    strip: int = 0


@dataclass(frozen=True)
class PlacedFile:
    """A file of the contract that is shown inside every sandbox of the run at the absolute path ``to``."""

    file: NamedFile
    to: str


@dataclass(frozen=True)
class Environment:
    """The environment of setup, agent and checks. What is not declared is absent.

    ``image`` are the digests of an image's layers, from the lowest to the highest; none where the root is the host's.
    ``hide`` are absolute paths or globs in the image that no sandbox shows.
    """

    sandbox: str = "host"
    image: tuple[str, ...] = ()
    root: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    files: tuple[PlacedFile, ...] = ()
    require: tuple[str, ...] = ()
    seed: int = 20260307
    hide: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """Something fetched outside the sandbox by name and digest.

    ``audience`` says where it is visible: ``setup`` inputs are shown at ``/inputs`` while setup runs; ``judge`` inputs
    are never shown whole to any sandbox: only what ``hidden`` and ``reference`` name is taken out of them.
    ``accept_copy`` is the author's reason to show a setup input that contains another version of the project under
    test.
    """

    name: str
    source: Source
    audience: str = "setup"
    with_dependencies: bool = False
    accept_copy: str = ""


@dataclass(frozen=True)
class SetupStep:
    """One command that turns the pristine tree into the base; offline, in a sandbox, cached by digest.

    ``network`` is always closed: the form knows other ways, and the loader refuses them.
    """

    run: tuple[str, ...]
    directory: str = "/workspace"
    timeout_seconds: int = 600
    repeat: str = "once"
    network: Network = field(default_factory=Network)


@dataclass(frozen=True)
class Hidden:
    """Files put in place for the judge after the patch: from a directory of the contract or from a judge input.

    ``files`` lists a contract directory's files; for an input it is empty and ``paths`` says what to take.
    ``paths`` are path prefixes or globs inside the source; ``strip`` leading directories are taken off, and the rest
    lands below ``to`` in the tree.
    """

    input: str = ""
    directory: str = ""
    files: tuple[NamedFile, ...] = ()
    paths: tuple[str, ...] = ()
    strip: int = 0
    to: str = ""


@dataclass(frozen=True)
class Rerun:
    """How often a check is repeated and how the attempts decide. Anything but ``all`` is flagged in every report."""

    times: int = 1
    decide: str = "all"


@dataclass(frozen=True)
class Inverted:
    """How a success of a check is confirmed with altered tests.

    ``draws`` is the number of additional runs in one set; 0 turns them off, which every report shows. Further sets are
    drawn only when a set shows something. ``run`` is the command of these runs, for a check whose own command runs more
    than the listed tests. ``variants`` are patches of the contract that each alter a test so that it must fail, for
    languages in which Proctor makes none itself.
    """

    draws: int = 4
    run: tuple[str, ...] = ()
    variants: tuple[NamedFile, ...] = ()


@dataclass(frozen=True)
class Sentinel:
    """A test file with one test that must pass and one that must fail, written beside the suite under drawn names.

    ``template`` is the text of the file, with ``{passing}`` and ``{failing}`` where the names go; ``at`` is its path
    in the tree, with ``{name}``. ``arguments`` are added to the check's command line, with ``{path}``.
    ``passing_id`` and ``failing_id`` say which ids the results then show, with ``{path}``, ``{name}``, ``{passing}``
    and ``{failing}``. A template may hold more tests of a kind, as ``{failing2}`` to ``{failing5}``, whose ids are made
    alike: one for each kind of assertion that the suite makes. ``template_file`` is the file that the template was
    read from, if it was.
    """

    template: str
    at: str
    arguments: tuple[str, ...] = ()
    passing_id: str = "{passing}"
    failing_id: str = "{failing}"
    template_file: NamedFile | None = None


@dataclass(frozen=True)
class Check:
    """An executable predicate on the patched tree.

    ``results`` is one of ``RESULT_FORMATS`` or the name of a plug-in's reader; except for exit-code and pytest,
    ``results_file`` is the file's name in the directory that ``PROCTOR_RESULTS`` names inside the sandbox.
    ``sentinel`` may be empty for pytest, which has one built in.
    ``no_op`` marks a gate that is empty on purpose. ``must_pass_file`` and ``keep_passing_file`` are the files that the
    ids were read from, if they were. ``flake_tolerance`` is the share of attempts on one and the same tree, as a
    decimal, that may differ from the rest before the check is called flaky.
    """

    id: str
    gate: str
    run: tuple[str, ...]
    layer: str = ""
    mandatory: bool = True
    directory: str = "/workspace"
    timeout_seconds: int = 600
    results: str = "exit-code"
    results_file: str = ""
    must_pass: tuple[str, ...] = ()
    keep_passing: tuple[str, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    rerun: Rerun = Rerun()
    sentinel: Sentinel | None = None
    no_op: bool = False
    must_pass_file: NamedFile | None = None
    keep_passing_file: NamedFile | None = None
    flake_tolerance: str = "0"
    inverted: Inverted = Inverted()


@dataclass(frozen=True)
class Reference:
    """A known solution: a patch of the contract, or files of a judge input that replace those of the tree.

    ``alternatives`` are patches of the contract that solve the task in other ways, which the oracle must accept too.
    """

    patch: NamedFile | None = None
    input: str = ""
    paths: tuple[str, ...] = ()
    strip: int = 0
    to: str = ""
    alternatives: tuple[NamedFile, ...] = ()


@dataclass(frozen=True)
class Score:
    """The rubric of the graded score; weights are decimal strings that sum to 1."""

    minimality_lambda: str = "0.01"
    minimality_weight: str = "0.5"
    trace_weight: str = "0.5"
    maintainability_weight: str = "0"
    maintainability_checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """A contract. ``directory`` contains its files and is not part of its meaning."""

    directory: Path
    name: str
    title: str
    kind: str
    task: Task
    repository: GitRepository | ArchiveRepository
    checks: tuple[Check, ...]
    strata: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    environment: Environment = Environment()
    inputs: tuple[Input, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    policy: Policy = field(default_factory=Policy)
    budget: Budget = field(default_factory=Budget)
    reference: Reference | None = None
    score: Score = Score()
