"""Policy and budget: what can be written, what it means, and what is refused, at its place, by loader and schema."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path

import jsonschema
import pytest

from proctor.base.canonical import canonical, parse_canonical
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import ContractError
from proctor.contract import model, policy
from proctor.contract.digest import content_id, from_resolved, resolved
from proctor.contract.load import load_contract
from proctor.contract.model import Ask, Budget, Checkpoints, Contract, NamedFile, Network, Policy, Rollback
from proctor.contract.schema import json_schema
from proctor.contract.strict_yaml import load_yaml
from proctor.execute.monitor.severity_grades import DEFAULT_RULES
from proctor.execute.monitor.text_rules.intent_rules import TEXT_RULES
from proctor.judge.risk_indicators import DEPENDENCY_CODES

Writer = Callable[..., Path]
Load = Callable[[str], Contract]
VALIDATOR = jsonschema.Draft202012Validator(json_schema())
TAPE = b'{"a tape":1}\n'


@pytest.fixture
def load(tmp_path: Path, writer: Writer, minimal_text: str) -> Load:
    """Loads the minimal contract with more text at its end."""

    def load_with(text: str) -> Contract:
        directory = writer(tmp_path / "c", f"{minimal_text}{text}\n")
        (directory / "tape.jsonl").write_bytes(TAPE)
        return load_contract(directory)

    return load_with


NETWORKS = {
    "none": Network(),
    '{allow: ["example.org:443"]}': Network(("example.org:443",)),
    '{allow: ["*.example.org:8443", "a:1", "10.0.0.1:65535"]}': Network(
        ("*.example.org:8443", "a:1", "10.0.0.1:65535")
    ),
    '{allow: ["example.org:80"], record: pages}': Network(("example.org:80",), "pages"),
    '{record: pages, allow: ["xn--bcher-kva.example:80"]}': Network(("xn--bcher-kva.example:80",), "pages"),
    "{replay: tape.jsonl}": Network(replay=NamedFile("tape.jsonl", hashlib.sha256(TAPE).hexdigest())),
}


@pytest.mark.parametrize("text", NETWORKS)
def test_the_network_is_what_was_written(load: Load, minimal_text: str, text: str) -> None:
    contract = load(f"policy: {{network: {text}}}")
    assert contract.policy == Policy(network=NETWORKS[text])
    VALIDATOR.validate(load_yaml(f"{minimal_text}policy: {{network: {text}}}".encode(), "contract.yaml").plain())
    data = parse_canonical(canonical(resolved(contract)))
    assert from_resolved(data, contract.directory) == contract


def test_the_network_has_a_mode() -> None:
    assert [network.mode for network in NETWORKS.values()] == ["none", "allow", "allow", "record", "record", "replay"]


def test_the_bytes_of_a_cassette_matter(load: Load) -> None:
    contract = load("policy: {network: {replay: tape.jsonl}}")
    (contract.directory / "tape.jsonl").write_bytes(TAPE + b"{}\n")
    assert content_id(load_contract(contract.directory)) != content_id(contract)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("5", "5.00"), ("5.00", "5.00"), ("5.000", "5.00"), ("0", "0.00"), ("0.1", "0.10"), ("0.1250", "0.125")],
)
def test_equal_amounts_are_one_amount(load: Load, written: str, meant: str) -> None:
    assert load(f'budget: {{usd: "{written}"}}').budget.usd == meant


def test_an_amount_that_is_the_default_changes_nothing(load: Load) -> None:
    assert content_id(load('budget: {usd: "5"}')) == content_id(load(""))


def test_caps_can_be_taken_off(load: Load) -> None:
    counts = ("tokens", "tool_calls", "failed_cycles", "dependency_resolutions", "cpu_seconds", "disk_bytes", "inodes")
    budget = load(f"budget: {{{', '.join(f'{name}: null' for name in counts)}}}").budget
    for name, value in field_items(Budget()):
        assert value is not None, name
        assert getattr(budget, name) == (None if name in counts else value)


def test_the_caps_of_the_protocol_are_the_defaults_and_called_policy_choices() -> None:
    assert (Budget.wall_seconds, Budget.usd) == (1800, "5.00")
    schema = json_schema()["properties"]
    assert all("policy choices" in schema[part]["description"] for part in ("policy", "budget"))
    assert "policy choices" in (Budget.__doc__ or "")


def test_defaults_watch_and_open_nothing(load: Load) -> None:
    terms = load("").policy
    assert terms == Policy()
    assert (terms.network.mode, terms.stages.ladder, terms.stages.start) == ("none", "none", "inspect")
    assert (terms.canaries, terms.reads, terms.dependencies.new) == (True, "none", "allow")
    assert load("policy: {ask: [{on: [network]}]}").policy.ask == (Ask(("network",), 900, "deny"),)
    assert load("policy: {checkpoints: {}}").policy.checkpoints == Checkpoints()
    assert load("policy: {checkpoints: null}").policy.checkpoints is None
    assert load("policy: {rollback: [{on: [dns]}]}").policy.rollback == (Rollback(("dns",), "continue"),)


def test_a_setup_step_may_say_that_it_is_offline(load: Load) -> None:
    step = load("setup: [{run: make, network: none}]").setup[0]
    assert step == load("setup: [{run: make}]").setup[0]
    assert step.network == Network()


def test_the_model_offers_every_class_of_the_terms() -> None:
    """What reads a resolved contract looks classes up there."""
    named = vars(policy).items()
    classes = {name for name, value in named if isinstance(value, type) and is_dataclass(value)}
    assert classes == {
        *("NamedFile", "Network", "Stages", "Dependencies", "TextRules", "Ask", "Checkpoints", "Rollback", "Policy"),
        "Budget",
    }
    for name in classes:
        assert getattr(model, name) is getattr(policy, name)
    schema = json_schema()["properties"]
    for name, cls in (("policy", Policy), ("budget", Budget)):
        assert list(schema[name]["properties"]) == [field for field, _ in field_items(cls())]


def test_the_classes_of_calls_are_those_that_the_sandbox_refuses() -> None:
    """The table of the sandbox lies on a higher floor, so the two lists can only be held against each other here."""
    table = Path(policy.__file__).parent.parent / "execute/sandbox/native/calls.c"
    kinds = set(re.findall(r'(?:NEVER(?:_NEW)?\(\w+, |\.kind = )"(\w+)"', table.read_text("utf-8")))
    assert tuple(sorted(kinds - {"space"})) == policy.SYSCALL_CLASSES


def test_the_codes_that_a_policy_can_name_are_those_that_are_told() -> None:
    """What tells them lies on higher floors, so the lists can only be held against it here."""
    higher = Path(policy.__file__).parent.parent
    told = {
        code
        for file in (higher / "execute/sandbox/native").glob("*.c")
        for code in re.findall(r'tell_attempt\(stopped, "([a-z-]+)"', file.read_text("utf-8"))
    }
    breakers = "".join(file.read_text("utf-8") for file in (higher / "execute/monitor/breakers").glob("*.py"))
    tripped = set(re.findall(r'Trip\(\s*self\.name,\s*"([a-z-]+)"', breakers))
    tripped |= set(re.findall(r'name, code, \w+ = "[a-z-]+", "([a-z-]+)"', breakers))
    assert tripped | {"memory-cap", "disk-cap", "inodes-cap"} == set(policy.BREAKER_CODES)
    seen = {code for code in (*told, *DEFAULT_RULES) if not code.endswith("*") and code not in policy.BREAKER_CODES}
    families = {code for code in policy.INDICATOR_CODES if code.startswith(("syscall-", "words-"))}
    assert seen | families == set(policy.INDICATOR_CODES)
    assert sorted(rule.id for rule in TEXT_RULES) == list(policy.TEXT_RULES)
    assert set(DEPENDENCY_CODES) == set(policy.DECLARED)


@pytest.mark.parametrize("code", [*policy.GRADED, "syscall-*", "words-*", "words-tests-*"])
def test_every_code_that_is_told_can_be_graded(load: Load, code: str) -> None:
    assert load(f'policy: {{rules: {{"{code}": alert}}}}').policy.rules == {code: "alert"}


# name: (what is written, words of the message); @@ marks where the mistake must be seen
BY_SHAPE = {
    "an open network": ("policy: {network: @@all}", "'all' is not one of none"),
    "a network that is a list": ("policy: {network: @@[a]}", "expected none, {allow: [host:port]}"),
    "a network that is nothing": ("policy: {network: @@null}", "expected none, {allow: [host:port]}"),
    "a network of no kind": ("policy: {network: @@{alow: [a]}}", "did you mean 'allow'?"),
    "no address": ("policy: {network: {allow: @@[]}}", "must not be empty"),
    "an address that is text": ('policy: {network: {allow: @@"a:1"}}', "expected a list, not text"),
    "an address twice": ('policy: {network: {allow: ["a:1", @@"a:1"]}}', "is given twice"),
    "an address without a port": ("policy: {network: {allow: [@@example.org]}}", "a host in lower case and a port"),
    "an address with port 0": ('policy: {network: {allow: [@@"a:0"]}}', "a host in lower case and a port"),
    "an address with a giant port": ('policy: {network: {allow: [@@"a:65536"]}}', "a host in lower case and a port"),
    "an address in capitals": ('policy: {network: {allow: [@@"Example.org:1"]}}', "a host in lower case"),
    "every address": ('policy: {network: {allow: [@@"*:443"]}}', "a host in lower case and a port"),
    "a star amid an address": ('policy: {network: {allow: [@@"a.*.org:443"]}}', "a host in lower case and a port"),
    "an address with a path": ('policy: {network: {allow: [@@"https://a:1/x"]}}', "a host in lower case and a port"),
    "a recording of nothing": ("policy: {network: @@{record: pages}}", "the key 'allow' is missing"),
    "a recording at a path": ('policy: {network: {record: @@a/b, allow: ["a:1"]}}', "expected a name"),
    "a replay that allows": (
        'policy: {network: @@{replay: tape.jsonl, allow: ["a:1"]}}',
        "only one of allow, replay may be given",
    ),
    "a replay that records": (
        'policy: {network: @@{replay: tape.jsonl, record: x, allow: ["a:1"]}}',
        "only one of record, replay may be given",
    ),
    "a cassette above the contract": ("policy: {network: {replay: @@../x}}", "inside the contract's directory"),
    "a setup step that only records": ("setup: [{run: x, network: @@{record: x}}]", "one of allow, replay is missing"),
    "an unknown ladder": ("policy: {stages: {ladder: @@auto}}", "is not one of requested, automatic, none"),
    "an unknown stage": ("policy: {stages: {ladder: automatic, start: @@read}}", "is not one of inspect, write, test"),
    "a start without a ladder": ("policy: {stages: {start: @@write}}", "'start' makes no sense with ladder: none"),
    "stages as a list": ("policy: {stages: @@[inspect]}", "expected a map of stages's fields"),
    "tests that are text": ("policy: {stages: {tests: @@make}}", "expected a list, not text"),
    "a pattern for every command": ('policy: {forbid_commands: [@@"*"]}', "alone is not allowed"),
    "a pattern of stars and spaces": ('policy: {forbid_commands: [@@"* *"]}', "alone is not allowed"),
    "a pattern that begins with a space": ('policy: {forbid_commands: [@@" x"]}', "a part of a command line"),
    "a pattern with a newline": ('policy: {forbid_commands: [@@"a\\nb"]}', "a part of a command line"),
    "a pattern of nothing": ("policy: {forbid_commands: [@@'']}", "not empty text"),
    "a pattern twice": ("policy: {forbid_commands: [a, @@a]}", "is given twice"),
    "an unknown class of calls": ("policy: {forbid_syscalls: [@@ptrace]}", "did you mean 'trace'?"),
    "a class of calls twice": ("policy: {forbid_syscalls: [bpf, @@bpf]}", "is given twice"),
    "an unknown rule on dependencies": ("policy: {dependencies: {new: @@deny}}", "is not one of allow, declare, forb"),
    "a registry with a path": ('policy: {dependencies: {registries: [@@"a/x"]}}', "a host in lower case"),
    "registries of what is forbidden": (
        "policy: {dependencies: {new: forbid, registries: @@[a]}}",
        "'registries' makes no sense with new: forbid",
    ),
    "canaries by a word": ("policy: {canaries: @@yes}", "expected true or false"),
    "reads by a flag": ("policy: {reads: @@true}", "expected a detail, not true"),
    "unknown reads": ("policy: {reads: @@file}", "did you mean 'files'?"),
    "words to switch on": ("policy: {words: {@@on: [a]}}", "unknown key 'on' in words"),
    "an odd id of a rule": ('policy: {words: {off: [@@"a b"]}}', "the id of a rule"),
    "a question about nothing": ("policy: {ask: [{on: @@[]}]}", "must not be empty"),
    "a question without an alert": ("policy: {ask: [@@{otherwise: deny}]}", "the key 'on' is missing"),
    "one question that is no list": ("policy: {ask: @@{on: [network]}}", "expected a list, not a map"),
    "an alert twice in a question": ("policy: {ask: [{on: [dns, @@dns]}]}", "is given twice"),
    "an odd code": ("policy: {ask: [{on: [@@Network]}]}", "the code of an alert"),
    "a rollback at nothing": ("policy: {rollback: [{on: @@[]}]}", "must not be empty"),
    "an unknown end of a rollback": ("policy: {rollback: [{on: [dns], then: @@stop}]}", "is not one of continue, end"),
    "one checkpoint only": ("policy: {checkpoints: {keep: @@1}}", "1 is too small"),
    "a checkpoint after no calls": ("policy: {checkpoints: {every_calls: @@0}}", "0 is too small"),
    "checkpoints in a list": ("policy: {checkpoints: @@[]}", "expected"),
    "no time for an answer": ("policy: {ask: [{on: [dns], deadline_seconds: @@0}]}", "0 is too small"),
    "an unknown answer": ("policy: {ask: [{on: [dns], otherwise: @@allow}]}", "is not one of approve, deny"),
    "an unknown grade": ("policy: {rules: {dns: @@error}}", "is not one of notice, alert, violation"),
    "a grade for everything": ('policy: {rules: {@@"*": notice}}', "or of a family such as syscall-*"),
    "a star amid a code": ('policy: {rules: {@@"a-*-b": notice}}', "or of a family such as syscall-*"),
    "a family that is not parted": ('policy: {rules: {@@"sys*": notice}}', "or of a family such as syscall-*"),
    "a question about a family": ('policy: {ask: [{on: [@@"syscall-*"]}]}', "the code of an alert"),
    "an odd code of a rule": ("policy: {rules: {@@DNS: alert}}", "the code of an alert"),
    "an amount without quotes": ("budget: {usd: @@5.00}", 'quote it to make it text: "5.00"'),
    "a negative amount": ('budget: {usd: @@"-1.00"}', "an amount in quotes"),
    "an amount with its sign": ('budget: {usd: @@"$5.00"}', "an amount in quotes"),
    "an amount as a power": ('budget: {usd: @@"5e3"}', "an amount in quotes"),
    "an amount of nothing": ("budget: {usd: @@''}", "not empty text"),
    "no cap on cost": ("budget: {usd: @@null}", "expected an amount in quotes"),
    "a negative cap": ("budget: {tokens: @@-1}", "-1 is too small (at least 0)"),
    "half a call": ("budget: {tool_calls: @@1.5}", "expected a whole number"),
    "a cap in quotes": ('budget: {failed_cycles: @@"3"}', "without a unit or quotes"),
    "a cap without a bound": ("budget: {dependency_resolutions: @@.inf}", "not a plain decimal"),
    "no processor time": ("budget: {cpu_seconds: @@0}", "0 is too small (at least 1)"),
    "a disk with a unit": ("budget: {disk_bytes: @@8GiB}", "without a unit"),
    "no inodes": ("budget: {inodes: @@0}", "0 is too small (at least 1)"),
}
BY_MEANING = {
    "a misspelt code of a rule": (
        "policy: {rules: {@@forbiden-command: alert}}",
        "there is no code 'forbiden-command' (did you mean 'forbidden-command'?)",
    ),
    "a rule on words that is none": (
        "policy: {rules: {@@words-tests-forged: violation}}",
        "did you mean 'words-tests-forge'?",
    ),
    "a class of calls that is none": ("policy: {rules: {@@syscall-ptrace: alert}}", "did you mean 'syscall-trace'?"),
    "a family that is none": ('policy: {rules: {@@"sycall-*": alert}}', "did you mean 'syscall-*'?"),
    "a grade that the breaker sets": ("policy: {rules: {@@burst: violation}}", "'burst' is set by its breaker"),
    "a question about no code": ("policy: {ask: [{on: [dns, @@nonsense]}]}", "there is no alert 'nonsense'"),
    "a question at a misspelt cap": ("policy: {ask: [{on: [@@tool-calls-cap]}]}", "did you mean 'tool-call-cap'?"),
    "a rollback at no code": ("policy: {rollback: [{on: [@@nonsense]}]}", "there is no alert 'nonsense'"),
    "a switch for no rule": ("policy: {words: {off: [@@foo]}}", "there is no text rule 'foo'"),
    "a misspelt switch": ("policy: {words: {off: [@@histroy-search]}}", "did you mean 'history-search'?"),
    "a missing cassette": ("policy: {network: {replay: @@absent}}", "'absent' does not exist"),
    "a cassette that is a directory": ("policy: {network: {replay: @@hidden}}", "hidden"),
    "an alert in two questions": (
        "policy: {ask: [{on: [dns]}, {on: [network, @@dns]}]}",
        "'dns' is listed twice under ask",
    ),
    "an alert in two rollbacks": (
        "policy: {rollback: [{on: [dns]}, {on: [network, @@dns]}]}",
        "'dns' is listed twice under rollback",
    ),
    "a setup step with a network": (
        'setup: [{run: x, network: @@{allow: ["a:1"]}}]',
        "setup cannot use the network, so 'allow' is not supported (write none",
    ),
    "a setup step with a cassette": (
        "setup: [{run: x, network: @@{replay: tape.jsonl}}]",
        "setup cannot use the network, so 'replay' is not supported",
    ),
}
EVERY = {**BY_SHAPE, **BY_MEANING}


@pytest.mark.parametrize("name", EVERY)
def test_a_mistake_is_told_once_and_with_its_place(load: Load, minimal_text: str, name: str) -> None:
    text, words = EVERY[name]
    place = f":{minimal_text.count(chr(10)) + 1}:{text.index('@@') + 1}: "
    with pytest.raises(ContractError) as caught:
        load(text.replace("@@", ""))
    (told,) = map(str, caught.value.mistakes)
    assert place in told and words in told


@pytest.mark.parametrize("name", EVERY)
def test_the_schema_knows_what_the_shape_forbids(minimal_text: str, name: str) -> None:
    text = EVERY[name][0].replace("@@", "").replace(".inf", '".inf"')
    data = load_yaml(f"{minimal_text}{text}\n".encode(), "contract.yaml").plain()
    assert VALIDATOR.is_valid(data) == (name in BY_MEANING)
