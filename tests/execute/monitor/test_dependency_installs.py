"""Which dependencies the words of an installation name."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.dependency_installs import installs_in, read_install


@pytest.mark.parametrize(
    ("line", "ecosystem", "names", "hosts"),
    [
        ("pip install requests==2 Flask_Login[x]", "python", ("requests", "flask-login"), ()),
        ("python3.11 -m pip install -r requirements.txt -e . numpy", "python", ("numpy",), ()),
        ("uv pip install --index-url=https://i.example/simple x", "python", ("x",), ("i.example",)),
        ("timeout 5 pip3 install -i https://u:p@i.example:8443/s x", "python", ("x",), ("i.example:8443",)),
        ("uv add httpx", "python", ("httpx",), ()),
        ("poetry add --group dev rich", "python", ("rich",), ()),
        ("pip install git+https://git.example/t/Tool.git@v1", "python", ("tool",), ("git.example",)),
        ("pip install ./local x.whl", "python", (), ()),
        ("npm install -g -f left-pad@1 @s/p@2", "javascript", ("left-pad", "@s/p"), ()),
        ("npm i --registry https://r.example x", "javascript", ("x",), ("r.example",)),
        ("npm ci", "javascript", (), ()),
        ("yarn add x", "javascript", ("x",), ()),
        ("cargo add serde --features derive", "rust", ("serde",), ()),
        ("go get example.org/a@v1", "go", ("example.org/a",), ()),
        ("gem install rake", "ruby", ("rake",), ()),
        ("composer require Monolog/monolog:3", "php", ("monolog/monolog",), ()),
        ("apt-get install -y tree", "system", ("tree",), ()),
        ("ls install x", "", (), ()),
    ],
)
def test_what_an_installation_names(line: str, ecosystem: str, names: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    assert read_install(line.split()) == (ecosystem, names, hosts)


def test_installations_are_told_with_their_ends(new_story: Any) -> None:
    story = new_story()
    story.add("guard.exec", pid=9, parent=1, path="pip", argv=["pip", "install", "early"], cwd="/", allowed=True)
    story.start()
    story.add("guard.exec", pid=2, parent=1, path="sh", argv=["sh"], cwd="/", allowed=True)
    for pid, name, code in ((3, "good", 0), (4, "bad", 1), (5, "open", None)):
        story.add("guard.exec", pid=pid, parent=2, path="pip", argv=["pip", "install", name], cwd="/", allowed=True)
        if code is not None:
            story.add("guard.exit", pid=pid, exit_code=code, wall_seconds="1.0")
    found = {install.names: install.failed for install in installs_in(story.events)}
    assert found == {("good",): False, ("bad",): True, ("open",): False}
