"""What is wrong with the options of a model is said in one line, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Proctor
from tests.conduct.talking import FIX

DATED = ["--model", "scripted/m-2026-01-01", "--script", "good.yaml"]
WRONG: list[tuple[list[str], str]] = [
    (["--model", "nobody/m"], "the provider 'nobody' is not known"),
    (["--model", "openai"], "not a model: 'openai'"),
    (["--model", "openai/"], "not a model: 'openai/'"),
    (["--model", "openai/m"], "there is no key in OPENAI_API_KEY"),
    (["--model", "openai/m", "--key-env", "NOT_SET"], "there is no key in NOT_SET"),
    (["--model", "openai/m", "--key-env", "sk-word@-0123"], "takes the name of a variable, not its value"),
    (["--model", "openai/m", "--key-file", "missing"], "the file with the key cannot be read: No such file"),
    (["--model", "openai/m", "--key-file", "empty"], "there is no key in"),
    (["--model", "openai/m", "--key-file", "prose"], "is not a key"),
    (["--model", "openai/m", "--key-file", "prose", "--key-env", "X"], "not from both"),
    (["--model", "openai/m", "--endpoint", "ftp://x"], "an endpoint is http:// or https://"),
    *(
        (["--model", "openai/m", "--endpoint", f"http://{place}/v1"], "an endpoint is http:// or https://")
        for place in ("127.0.0.1:abc", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:0", "[::1", ":80")
    ),
    (["--model", "openai/m", "--endpoint", "http://me:word@x"], "an endpoint must not contain a key"),
    (["--model", "scripted/m", "--script", "."], "the script cannot be read: not a regular file"),
    (["--model", "anthropic/m", "--dialect", "chat", "--key-file", "key"], "anthropic does not speak 'chat'"),
    (["--model", "scripted/m"], "a script answers for the provider 'scripted'"),
    (["--model", "openai/m", "--script", "good.yaml"], "a script answers for the provider 'scripted'"),
    (["--model", "scripted/m", "--script", "missing.yaml"], "the script cannot be read: No such file"),
    (["--model", "scripted/m", "--script", "bad.yaml"], "bad.yaml:3:5: unknown field 'sya'"),
    (["--model", "scripted/m", "--script", "torn.yaml"], "torn.yaml:"),
    (["--model", "openai/m", "--cassette", "nothing"], "there is no run 'nothing'"),
    (["--model", "scripted/m", "--script", "good.yaml", "--redact", "all", "--secrets", "prose"], "--redact spans"),
    (["--model", "scripted/m", "--script", "good.yaml", "--redact", "spans", "--secrets", "torn.yaml"], "torn.yaml:2"),
    (["--endpoint", "http://127.0.0.1:1"], "--endpoint needs a --model"),
    (["--redact", "all"], "--redact needs a --model"),
    ([], "the built-in agent needs a model"),
    ([*DATED, "--prices", "others.csv"], "no prices for the model 'm-2026-01-01'"),
    (
        [*DATED, "--prices", "others.csv", "--batch-usd", "1.00"],
        "others.csv: the price table has no prices for the model",
    ),
    ([*DATED, "--prices", "half.csv"], "proctor prices import --model PROVIDER/NAME"),
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    """The files that the options name."""
    (tmp_path / "good.yaml").write_text(FIX)
    (tmp_path / "bad.yaml").write_text("schema: 1\nturns:\n  - sya: hello\n")
    (tmp_path / "torn.yaml").write_text("schema: 1\nturns: [\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "prose").write_text("this is not a key\n")
    (tmp_path / "key").write_text("sk-0123456789\n")
    head = "action_type,unit,unit_price,model\n"
    (tmp_path / "others.csv").write_text(f"{head}llm_input,token,1,n\nllm_output,token,1,n\nrun,run,1,\n")
    (tmp_path / "half.csv").write_text(f"{head}llm_input,token,1,m\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_wrong_is_said(
    proctor: Proctor, make_contract: Any, tmp_path: Path, options: list[str], words: str
) -> None:
    done = proctor("run", make_contract(), "--agent", "builtin", *options, OPENAI_API_KEY="")
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr and "word@" not in done.stderr
    assert not list((tmp_path / "home").glob("runs/*")), "nothing has begun"


def test_a_run_without_recorded_calls_answers_nothing(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract()
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    (run,) = (tmp_path / "home" / "runs").iterdir()
    done = proctor("run", contract, "--agent", "builtin", "--model", "openai/m", "--cassette", run.name)
    assert done.returncode == 2 and "the run has no recorded model calls" in done.stderr
    again = proctor("replay", run.name, "--model")
    assert again.returncode == 2 and "the run had no model" in again.stderr
    both = proctor("replay", run.name, "--model", "--breakers")
    assert both.returncode == 2 and "only one part can be replayed at a time" in both.stderr
