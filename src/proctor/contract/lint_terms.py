"""What the linter says about policy and budget: what opens the network, switches a watch off or leaves no cap."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

from proctor.contract.command_line import matches_command
from proctor.contract.kinds import quoted
from proctor.contract.model import Contract
from proctor.contract.oracle import SHELL
from proctor.contract.policy import Network, Policy

Step = str | int
Found = tuple[str, tuple[Step, ...], str]
"""The severity, the place in the contract and the words of a remark."""


def remarks_on_terms(contract: Contract) -> Iterator[Found]:
    """Every remark on the terms of a run."""
    policy = contract.policy
    yield from _network(policy.network)
    yield from _dependencies(policy)
    yield from _watch(policy)
    yield from _commands(contract)
    yield from _budget(contract)


def _network(network: Network) -> Iterator[Found]:
    place = ("policy", "network")
    if network.mode == "allow":
        yield "warning", place, "the network is open and not recorded: no run can be replayed"
    if network.mode == "record":
        yield "advice", place, "the network is recorded: replay the cassette once there is one"
    for index, address in enumerate(network.allow):
        host = address.rpartition(":")[0]
        if host.startswith("*.") and "." not in host[2:]:
            yield "warning", (*place, "allow", index), f"{quoted(address)} opens a whole top-level domain"
        elif _is_near(host.removeprefix("*.")):
            yield "warning", (*place, "allow", index), f"{quoted(address)} is this machine or its own network"


def _is_near(host: str) -> bool:
    """Whether a host is on this side of the internet: the machine itself, or a network of its own."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    if not host.replace(".", "").isdigit():
        return False
    try:
        return not IPv4Address(host).is_global
    except AddressValueError:
        return False


def _dependencies(policy: Policy) -> Iterator[Found]:
    network, place = policy.network, ("policy", "dependencies", "registries")
    if policy.dependencies.registries and network.mode == "none":
        yield "advice", place, "registries are named, and the network is closed: none can be reached"
    if not network.allow:
        return
    for index, registry in enumerate(policy.dependencies.registries):
        if not any(_reaches(address, registry) for address in network.allow):
            yield "warning", (*place, index), f"the registry {quoted(registry)} is not among the addresses allowed"


def _reaches(address: str, registry: str) -> bool:
    """Whether a registry, with or without its port, lies behind an address of the allow list."""
    host, _, port = address.rpartition(":")
    name, _, at = registry.partition(":")
    return (not at or at == port) and (name == host or (host.startswith("*.") and name.endswith(host[1:])))


def _watch(policy: Policy) -> Iterator[Found]:
    if not policy.canaries:
        yield "warning", ("policy", "canaries"), "no canaries: a search for secrets goes unseen"
    if policy.words.off:
        names = ", ".join(map(quoted, policy.words.off))
        yield "warning", ("policy", "words", "off"), f"rules on words are switched off: {names}"
    for index, ask in enumerate(policy.ask):
        if ask.otherwise == "approve":
            yield (
                "warning",
                ("policy", "ask", index, "otherwise"),
                "when nobody answers, the run goes on as approved",
            )
    asked = {code for ask in policy.ask for code in ask.on}
    for index, rollback in enumerate(policy.rollback):
        for code in sorted(asked.intersection(rollback.on)):
            words = f"{quoted(code)} is asked about, and the question comes first: it is not rolled back by itself"
            yield "advice", ("policy", "rollback", index, "on"), words
    for code, grade in policy.rules.items():
        if grade == "notice":
            yield "warning", ("policy", "rules", code), f"{quoted(code)} is only a notice: it never fails a run"


def _commands(contract: Contract) -> Iterator[Found]:
    """Whether what is forbidden is also what a check does, so that trying the check would be a violation."""
    for index, pattern in enumerate(contract.policy.forbid_commands):
        for check in contract.checks:
            if check.no_op:
                continue
            text = check.run[len(SHELL) :] if check.run[: len(SHELL)] == SHELL else ()
            if matches_command(pattern, check.run) or any(matches_command(pattern, one.split()) for one in text):
                words = f"{quoted(pattern)} forbids the command of check {check.id!r}: an agent may not try it"
                yield "advice", ("policy", "forbid_commands", index), words


def _budget(contract: Contract) -> Iterator[Found]:
    budget = contract.budget
    for name, what in (("disk_bytes", "bytes"), ("inodes", "files")):
        if getattr(budget, name) is None:
            yield "warning", ("budget", name), f"no cap on the {what} that are written: a run may fill the disk"
    if budget.disk_bytes is not None and budget.file_bytes > budget.disk_bytes:
        yield "advice", ("budget", "file_bytes"), "one file may be larger than all that the run may write"
