"""Which model an agent uses: how a batch stores the options, and how they become a plan for the gateway.

A key comes from a variable or a file by name, is read when a run begins, and is written down nowhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.errors import InfrastructureFault, UsageFault, require_extra
from proctor.base.files import read_bounded
from proctor.conduct.replay.trace_replay import recorded_calls
from proctor.conduct.run.model_connection import ModelPlan
from proctor.execute.agents.agent_file import AgentFile
from proctor.execute.agents.options import option_name
from proctor.execute.gateway.dialects.dialect_routes import PLUG_INS, find_dialect
from proctor.execute.gateway.gateway_settings import Settings, Upstream
from proctor.execute.gateway.scripted.script_file import load_script
from proctor.execute.monitor.price_table import TABLE_BYTES, PriceTable, load_prices
from proctor.record.run_directory import RunDirectory

ALL_DIALECTS = ("chat", "responses", "anthropic", "gemini")
REDACTIONS = ("spans", "all")
"""What --redact can be: without secrets, or without any text."""

SCRIPTED = "scripted"
SCRIPT_BYTES = 4 << 20
KEY_BYTES = 16 << 10
SECRETS_BYTES = 64 << 10
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True)
class Provider:
    """A provider of models: its dialects, its address, and the usual variable of its key."""

    dialects: tuple[str, ...]
    url: str
    key_variable: str


PROVIDERS = {
    "openai": Provider(("chat", "responses"), "https://api.openai.com", "OPENAI_API_KEY"),
    "anthropic": Provider(("anthropic",), "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "google": Provider(("gemini",), "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
}

NAMES = (
    *("endpoint", "key_env", "key_file", "dialect", "script", "cassette", "redact", "secrets"),
    *("provider_tools", "unknown_fields", "output_tokens", "provider_wait"),
)
"""The options that a batch stores in addition to the models."""

PER_MODEL = ("endpoint", "key_env", "key_file", "dialect")
"""The options that can be given for one model of several; those values are kept as JSON, by model."""


def kept_options(
    options: Mapping[str, Any], models: Sequence[str], find: Callable[[str], RunDirectory]
) -> dict[str, str]:
    """The options as a batch keeps them: texts, with full paths; nothing where no model was asked for."""
    given = {name: str(options[name]) for name in NAMES if options[name] not in ("", None, ())}
    if not models:
        stray = [name for name in NAMES[:8] if name in given]
        if stray:
            raise UsageFault(f"--{stray[0].replace('_', '-')} needs a --model", hint="--model PROVIDER/NAME")
        return {}
    given |= _per_model(options, models)
    given = {name: text for name, text in given.items() if text}
    for name in ("script", "secrets"):
        if name in given:
            given[name] = str(Path(given[name]).absolute())
    if "cassette" in given:
        given["cassette"] = str(find(given["cassette"]).path.absolute())
    return given


def _per_model(options: Mapping[str, Any], models: Sequence[str]) -> dict[str, str]:
    """The options that may name a model: the values for all models, and those for one as JSON."""
    common: dict[str, str] = dict.fromkeys(PER_MODEL, "")
    named: dict[str, dict[str, str]] = {}
    for name in PER_MODEL:
        option = f"--{name.replace('_', '-')}"
        for text in options[name]:
            model, value = _model_and_value(text)
            if model and model not in models:
                hint = f"models of this command: {', '.join(models)}"
                raise UsageFault(f"there is no model {model[:100]!r} in this command", where=option, hint=hint)
            held = named.setdefault(model, {}) if model else common
            if held.get(name):
                which = f"for {model}" if model else "for all models"
                hint = f"{option} MODEL=VALUE gives a value for one model"
                raise UsageFault(f"given twice {which}", where=option, hint=hint)
            if name == "dialect" and value not in ALL_DIALECTS and value not in PLUG_INS.names():
                known = ", ".join((*ALL_DIALECTS, *PLUG_INS.names()))
                raise UsageFault(f"not a dialect: {value[:100]!r}", where=option, hint=known)
            held[name] = str(Path(value).absolute()) if name == "key_file" and value else value
    return {**common, "per_model": json.dumps(named, sort_keys=True) if named else ""}


def _model_and_value(text: str) -> tuple[str, str]:
    """The two parts of ``PROVIDER/NAME=VALUE``; the first is empty for a URL, a path or a name alone."""
    start, equals, value = text.partition("=")
    provider, slash, name = start.partition("/")
    is_model = equals and slash and name and provider not in ("", ".", "..", "~") and not provider.endswith(":")
    return (start, value) if is_model else ("", text)


def settings_of_model(model: str, settings: Mapping[str, str], asked: AgentFile) -> dict[str, str]:
    """The settings of a batch for one model: those for all models, then those of the agent file, then its own."""
    flat = dict(settings)
    of_file = {name: getattr(asked, name) for name in PER_MODEL} if asked.model else {}
    of_model = json.loads(settings.get("per_model", "{}")).get(model, {})
    for given in (of_file, of_model):
        own = {name: text for name, text in given.items() if text}
        if "key_env" in own or "key_file" in own:
            flat = {name: text for name, text in flat.items() if name not in ("key_env", "key_file")}
        flat |= own
    return flat | ({"small_model": asked.wanted.small_model} if asked.wanted.small_model else {})


def dialects_of(model: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """The dialects of a model, by the name that requests it."""
    provider, _, _ = model.partition("/")
    dialects = PROVIDERS[provider].dialects if provider in PROVIDERS else ALL_DIALECTS
    wanted = options.get("dialect", "")
    if wanted and wanted not in ALL_DIALECTS and provider not in PROVIDERS:
        return (find_dialect(wanted).name,)
    if wanted and wanted not in dialects:
        raise UsageFault(f"{provider} does not speak {wanted!r}", hint=f"it speaks {', '.join(dialects)}")
    return (wanted,) if wanted else dialects


def plan_model(model: str, options: Mapping[str, str]) -> ModelPlan | None:
    """The plan for ``model``, with its key; nothing for the empty word."""
    if not model:
        return None
    provider, slash, name = model.partition("/")
    if not slash or not provider or not name:
        raise UsageFault(f"not a model: {model[:100]!r}", hint="--model PROVIDER/NAME, such as openai/NAME")
    require_extra("gateway")
    tape = _tape(options.get("cassette", ""))
    small = options.get("small_model", "")
    redact = options.get("redact", "none")
    hidden = redact != "none" or "redact_secrets" in options
    common: dict[str, Any] = {
        "models": {**({small: small} if small else {}), "*": name},
        "provider_tools": options.get("provider_tools", "strip"),
        "unknown_fields": options.get("unknown_fields", "strip"),
        "output_tokens": int(options["output_tokens"]) if "output_tokens" in options else None,
        "cassette": "replay" if tape is not None else "off" if hidden else "record",
        "tape": tape,
        "secrets": _secrets(redact, options.get("secrets", "")),
    }
    wait = int(options["provider_wait"]) if "provider_wait" in options else None
    if tape is not None:
        of_packages = tuple(one for one in dialects_of(model, options) if one not in ALL_DIALECTS)
        return ModelPlan(name, Settings(dialects=of_packages, **common), redact, wait)
    script = options.get("script", "")
    if (provider == SCRIPTED) != bool(script):
        raise UsageFault("a script answers for the provider 'scripted'", hint="--model scripted/NAME --script FILE")
    if script:
        useless = next((one for one in ("endpoint", "key_env", "key_file") if options.get(one)), "")
        if useless:
            hint = "PROVIDER/NAME=VALUE gives a value for one model of several"
            raise UsageFault("a scripted model has no endpoint and no key", where=option_name(useless), hint=hint)
        if not set(dialects_of(model, options)) <= set(ALL_DIALECTS):
            known = ", ".join(ALL_DIALECTS)
            problem = f"a scripted model does not speak {options['dialect']!r}, a dialect of a package"
            raise UsageFault(problem, where=option_name("dialect"), hint=f"it speaks {known}")
        return ModelPlan(name, Settings(script=_script(script), **common), redact, wait)
    return ModelPlan(name, Settings(upstreams=_upstreams(provider, options, Upstream), **common), redact, wait)


def _script(path: str) -> bytes:
    """The bytes of a script in which nothing is wrong."""
    data = _read(path, SCRIPT_BYTES, "script")
    load_script(data, path)
    return data


def _secrets(redact: str, path: str) -> tuple[str, ...]:
    """The expressions in a file for text to redact, in addition to the usual rules."""
    if path and redact != "spans":
        raise UsageFault("secrets are taken out of texts by --redact spans", where=path)
    if redact != "spans":
        return ()
    lines = _read(path, SECRETS_BYTES, "file of secrets").decode("utf-8", "replace").splitlines() if path else []
    for number, line in enumerate(lines, 1):
        try:
            re.compile(line)
        except re.error as error:
            raise UsageFault(f"not a regular expression: {error}", where=f"{path}:{number}") from None
    return tuple(line for line in lines if line.strip())


def _upstreams(provider: str, options: Mapping[str, str], make: Callable[[str, str], Any]) -> dict[str, Any]:
    known = PROVIDERS.get(provider)
    url = options.get("endpoint", "") or (known.url if known else "")
    if not url:
        raise UsageFault(
            f"the provider {provider!r} is not known",
            hint=f"name its --endpoint, or use one of {', '.join(PROVIDERS)}",
        )
    key = _key(known.key_variable if known else "", options)
    return {dialect: make(url, key) for dialect in dialects_of(f"{provider}/", options)}


def _key(usual: str, options: Mapping[str, str]) -> str:
    """The key's value. An endpoint of one's own may need none; a provider's usual one always does."""
    variable, file = options.get("key_env", ""), options.get("key_file", "")
    if variable and file:
        raise UsageFault("a key comes from --key-env or from --key-file, not from both")
    if variable and not _VARIABLE.fullmatch(variable):
        # It may be the key itself, so it is not repeated.
        raise UsageFault("--key-env takes the name of a variable, not its value", hint="--key-env OPENAI_API_KEY")
    if file:
        key = _read_key(file).decode("utf-8", "replace").strip()
    else:
        key = os.environ.get(variable or usual, "").strip() if variable or usual else ""
    if not key and (variable or file or not options.get("endpoint")):
        raise UsageFault(
            f"there is no key in {file or variable or usual}", hint="set it, or use --key-env or --key-file"
        )
    if not key.isprintable() or " " in key:
        raise UsageFault(f"the content of {file or variable or usual} is not a key")
    return key


def _read_key(path: str) -> bytes:
    try:
        return read_bounded(Path(path), KEY_BYTES)
    except OSError as error:
        # It may be the key itself, so it is not repeated.
        hint = "--key-file takes the name of a file, not its content"
        raise UsageFault(f"the file with the key cannot be read: {error.strerror}", hint=hint) from None


def _tape(run: str) -> bytes | None:
    """The recorded calls of the run at ``run``."""
    if not run:
        return None
    return recorded_calls(RunDirectory(Path(run)))


def _read(path: str, limit: int, description: str) -> bytes:
    try:
        return read_bounded(Path(path), limit)
    except OSError as error:
        raise UsageFault(f"the {description} cannot be read: {error.strerror}", where=path) from None
    except InfrastructureFault as fault:
        raise UsageFault(f"the {description} cannot be read: {fault.message}", where=path) from None


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
