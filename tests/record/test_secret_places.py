"""Many ways in which a secret can stand in a text, and many texts that only look like it."""

from __future__ import annotations

import base64
import json

import pytest

from proctor.record.redact import Redactor

S = "Zx81kP02LmQ9"
W = "correcthorse"
T = "ghp_" + "Ab3" * 12
H = "3f786850e387550fdab836ed7e6dc881de23001b"
D = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
U = "123e4567-e89b-12d3-a456-426614174000"
CODED = base64.b64encode(b"jo:" + S.encode()).decode()
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def twice(value: object) -> str:
    return json.dumps(json.dumps(value))


HIDDEN: dict[str, tuple[str, str]] = {
    "cli api-key": (f"command:mytool --api-key {S} x", S),
    "cli api-key=": (f"mytool --api-key={S}", S),
    "cli db-password": (f"tool --db-password {W} -v", W),
    "cli quoted": (f"tool --db-password '{W} {S}' -v", S),
    "two opts": (f"tool --password aaaa1111 --db-password {S}", S),
    "-u": (f"curl -u jo:{S} https://x", S),
    "--user": (f"curl --user jo:{S} https://x", S),
    "proxy-user": (f"curl --proxy-user jo:{S} x", S),
    "-u json": (json.dumps(["curl", "-u", f"jo:{S}"]), S),
    "-u json json": (twice(["curl", "-u", f"jo:{S}"]), S),
    "argv json": (json.dumps(["tool", "--api-key", S]), S),
    "argv json2": (twice(["tool", "--db-password", W]), W),
    "argv repr": (repr(["tool", "--db-password", W]), W),
    "yaml args": (f"args:\n  - --password\n  - {W}\n", W),
    "yaml args2": (f'args:\n  - "--password"\n  - "{W}"\n', W),
    "mysql": (f"mysql -h db -u root -p{S} app", S),
    "docker login": (f"docker login -u jo -p {W} hub.example", W),
    "docker login json": (json.dumps(["docker", "login", "-u", "jo", "-p", W]), W),
    "aws set": (f"aws configure set aws_secret_access_key {AWS}", AWS),
    "npm set": (f"npm config set //registry.example/:_authToken {S}", S),
    "mysqldump": (f"mysqldump -uroot -p{W} app", W),
    "sshpass": (f"sshpass -p {W} ssh x", W),
    "sshpass2": (f"sshpass -p'{S}' ssh x", S),
    "nv json": (json.dumps({"name": "DB_PASSWORD", "value": W}), W),
    "nv json key": (json.dumps({"key": "API_TOKEN", "value": S}), S),
    "nv json indent": (json.dumps([{"name": "DB_PASSWORD", "value": W}], indent=2), W),
    "nvjj": (twice({"name": "DB_PASSWORD", "value": W}), W),
    "nv yaml": (f"env:\n  - name: DB_PASSWORD\n    value: {W}\n", W),
    "nv yaml q": (f'env:\n  - name: DB_PASSWORD\n    value: "{W} x"\n', W),
    "nv hunk": (f"+  - name: DB_PASSWORD\n+    value: {W}\n", W),
    "xml attr": (f'<add key="Password" value="{W}"/>', W),
    "xml": (f"<server><password>{W}</password></server>", W),
    "maven": (f"<password>\n  {W}\n</password>", W),
    "env": (f"DB_PASSWORD={W}", W),
    "export": (f"export PGPASSWORD={W}", W),
    "export q": (f"export DB_PASS='{W} a'", W),
    "env token": (f"export TOKEN={S}", S),
    "gh token": (f"GH_TOKEN={H}", H),
    "connstr": (f"Server=x;User Id=sa;Password={W};Encrypt=yes", W),
    "connstr end": (f"Server=x;Uid=sa;Pwd={W}", W),
    "libpq": (f"host=h user=u password={W} dbname=d", W),
    "query": (f"https://x/?user=a&password={W}&b=1", W),
    "query tok": (f"https://x/?token={S}", S),
    "query key": (f"https://x/?api_key={S}&z", S),
    "url @": (f"postgres://u:p@{S}@host/db", S),
    "url /": (f"postgres://u:p/{S}@host/db", S),
    "url token": (f"https://{H}@github.com/x/y.git", H),
    "url token2": (f"git remote add o https://{H}:x-oauth-basic@github.com/x/y", H),
    "redis": (f"redis://:{W}@h:6379", W),
    "git remote": (f"origin\thttps://jo:{W}@git.example/x (fetch)", W),
    "auth odd": (f"aUtHoRiZaTiOn: bAsIc {CODED}", CODED),
    "auth raw": (f"Authorization: {S}{S}", S),
    "auth json": (json.dumps({"Authorization": f"Token {S}"}), S),
    "auth jj": (twice({"Authorization": f"Token {S}"}), S),
    "bearer JJ": (twice({"h": f"BEARER {S}"}), S),
    "extraheader": (f"http.extraheader=AUTHORIZATION: basic {CODED}", CODED),
    "x-api-key": (f"X-Api-Key: {S}", S),
    "X-Auth-Token": (f"X-Auth-Token: {S}", S),
    "private-token": (f"PRIVATE-TOKEN: {S}{S}", S),
    "cookie 2": (f"Cookie: a=1; sessionid={S}{S}", S),
    "cookie json": (json.dumps({"Cookie": f"sid={S}{S}"}), S),
    "set-cookie": (f"set-cookie: sid={S}{S}; Path=/", S),
    "cookie list": (f'["Cookie", "sid={S}{S}"]', S),
    "netrc": (f"machine h login u password {W}", W),
    "netrc default": (f"default login u password {W}", W),
    "netrc nologin": (f"machine h\npassword {W}", W),
    "netrc acct": (f"machine h\nlogin u\naccount a\npassword {W}", W),
    "yaml block": (f"password: |\n  {W}\n", W),
    "yaml q": (f"password: '{W}'", W),
    "toml": (f'password = "{W}"', W),
    "ini": (f"password = {S}", S),
    "php": (f"'password' => '{W}',", W),
    "go": (f'password := "{W}"', W),
    "hcl": (f'db_password = "{W}"', W),
    "percent before": (f"q=token%3D{T}%26x", T),
    "percent20": (f"%20{T}", T),
    "percent22": (f"%22{T}%22", T),
    "amp": (f"&quot;{T}&quot;", T),
    "u0022": (f"\\u0022{T}", T),
    "html ent": (f"x&#34;{T}", T),
    "json in json token": (twice(json.dumps({"a": T})), T),
    "diff -": (f"-{T}", T),
    "diff +pw": (f"+password = '{W}'", W),
    "filename": (f"diff --git a/{T} b/{T}", T),
    "md": (f"`{T}`", T),
    "csv": (f"a,{T},b", T),
    "tab": (f"a\t{T}\tb", T),
    "null": (f"a\0{T}\0b", T),
    "crlf": (f"a\r\n{T}\r\n", T),
    "brackets": (f"[{T}]", T),
    "colon": (f"x:{T}:y", T),
    "at": (f"{T}@host", T),
    "utf8": (f"é{T}ü", T),
    "underscore": (f"_{T}", T),
    "eq": (f"={T}", T),
    "aws": (f"aws_secret_access_key = {AWS}", "wJalrXUtnFEMI"),
    "aws env": (f"AWS_SECRET_ACCESS_KEY={AWS}", "wJalrXUtnFEMI"),
    "docker -e": (f"docker run -e POSTGRES_PASSWORD={W} x", W),
    "k8s stringData": (f"stringData:\n  password: {S}", S),
    "k8s b64": (f"data:\n  password: {CODED}", CODED),
    "java prop": (f"spring.datasource.password={S}", S),
    "-D": (f"java -Djavax.net.ssl.keyStorePassword={S} x", S),
    "storepass": (f"keytool -storepass {W} x", W),
    "passin": (f"openssl rsa -passin pass:{W} x", W),
    "IDENTIFIED": (f"CREATE USER a IDENTIFIED BY '{W}'", W),
    "psql": (f"ALTER USER a WITH PASSWORD '{W}';", W),
    "basic py": (f'requests.get(u, auth=("jo", "{S}"))', S),
    "kw": (f'connect(user="a", password="{W}")', W),
    "js": (f"password: `{W}`,", W),
    "camel": (f'"dbPassword": "{W}"', W),
    "camel key": (f'"apiKey": "{S}"', S),
    "clientSecret": (f'clientSecret="{S}"', S),
}


@pytest.mark.parametrize("place", HIDDEN)
def test_a_secret_is_found_where_people_put_them(place: str) -> None:
    text, secret = HIDDEN[place]
    redactor = make()
    clean = redactor.text(text)
    assert secret not in clean and clean.count("\n") == text.count("\n")
    assert redactor.text(clean) == clean


def make() -> Redactor:
    return Redactor(b"k" * 32, lambda name, kind, secret: None)


SHOWN = [
    H,
    D,
    U,
    f"commit {H}",
    f"index {H[:7]}..{H[7:14]} 100644",
    f"HEAD is now at {H[:10]} fix",
    f"sha256:{D}",
    f'"sha256": "{D}"',
    f'"digest": "sha256:{D}"',
    f'"id": "{U}"',
    f"run 20260307T101112Z-{H[:8]}",
    "tests/test_a.py::test_b[param1-2]",
    f"uuid={U}",
    f'etag: "{H}"',
    "docker run -u 1000:1000 x",
    'docker run -p 8080:80 login; call("login", "-p", PROVIDER, x)',
    "the login page takes -p flags; docker login then docker run -p 8080:80",
    "sort --key 2",
    "--max-token 4096",
    "--token-file /run/x1",
    "--private-key ~/.ssh/id_rsa2",
    "--secret-key ./keys/k1.pem",
    "PWD=/srv/work-1/x",
    "OLDPWD=/srv/a1",
    "password: str",
    "password: str = Field(...)",
    "def f(password: str, token: int = 5)",
    "pass through the key1 value",
    "-pass through x1",
    "--token is required",
    "see --api-key <key1>",
    "use --password to log in",
    "tokens=12345678",
    "max_tokens: 4096",
    "key=lambda x: x[1]",
    "https://example.org/a@b/c1",
    "git@github.com:a/b.git",
    f"https://github.com/a/b/commit/{H}",
    f"https://x.example/{H}@v1",
    "pip install x @ https://x/y@" + H,
    f"git+https://github.com/a/b@{H}#egg=x",
    "npm i @scope/pkg@1.2.3",
    "<key>CFBundleName</key><string>x</string>",
    "<token>",
    "mysql -h db -P 3306",
    "name: test_pass value: 5",
    "assert password == 'x'",
    "for key, value in items.items():",
    "{'key': 'abc12345', 'value': 'def67890'}",
    "basic test 12345",
    "Cookie: the thing",
    "cookie = SimpleCookie()",
    "Authorization: required",
    "monkey=banana12345",
    "integrity sha512-" + base64.b64encode(bytes(range(64))).decode(),
    "passed=12 failed=3",
    "1 passed, 2 failed",
    "bypass=true12",
    "sha1:" + H,
    "tree " + H,
    "parent " + H,
    "--key-env OPENAI_API_KEY",
    "key_env: ANTHROPIC_API_KEY",
    "layer key: " + "x" * 10,
]


@pytest.mark.parametrize("text", SHOWN)
def test_evidence_that_is_no_secret_stays(text: str) -> None:
    assert make().text(text) == text
