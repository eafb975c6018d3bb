"""Secrets of many kinds, made by chance from a seed; none of them is or was anybody's."""

from __future__ import annotations

import base64
import random
import string

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
LETTERS = {
    "a": ALNUM,
    "U": UPPER,
    "l": LOWER,
    "h": HEX,
    "c": string.ascii_lowercase,
    "d": string.digits,
    "w": ALNUM + "_-",
}

SHAPES: dict[str, str] = {
    "aws-access-key": "AKIA{U16}",
    "aws-mws-token": "amzn.mws.{h8}-{h4}-{h4}-{h4}-{h12}",
    "google-api-key": "AIza{w35}",
    "google-oauth-secret": "GOCSPX-{w28}",
    "google-oauth-token": "ya29.{w60}",
    "google-refresh-token": "1//0{w60}",
    "azure-client-secret": "{a3}8Q~{a34}",
    "github-token": "ghp_{a36}",
    "github-fine-token": "github_pat_{a22}_{a59}",
    "gitlab-token": "glpat-{w20}",
    "gitlab-runner-token": "GR1348941{w20}",
    "bitbucket-password": "ATBB{a32}",
    "atlassian-token": "ATATT3{w60}",
    "slack-token": "xoxb-{d12}-{d12}-{a24}",
    "slack-app-token": "xapp-1-{U11}-{d13}-{h64}",
    "telegram-token": "{d9}:AA{w33}",
    "stripe-key": "sk_live_{a24}",
    "webhook-secret": "whsec_{a32}",
    "square-token": "sq0atp-{w22}",
    "braintree-token": "access_token$production${l16}${h32}",
    "twilio-key": "SK{h32}",
    "sendgrid-key": "SG.{w22}.{w43}",
    "mailgun-key": "key-{h32}",
    "mailchimp-key": "{h32}-us12",
    "npm-token": "npm_{a36}",
    "pypi-token": "pypi-{w80}",
    "rubygems-key": "rubygems_{h48}",
    "crates-token": "cio{a32}",
    "nuget-key": "oy2{l43}",
    "docker-token": "dckr_pat_{w27}",
    "huggingface-token": "hf_{a34}",
    "anthropic-key": "sk-ant-api03-{w90}",
    "openai-key": "sk-proj-{a48}",
    "groq-key": "gsk_{a52}",
    "replicate-token": "r8_{a37}",
    "perplexity-key": "pplx-{a48}",
    "xai-key": "xai-{a80}",
    "digitalocean-token": "dop_v1_{h64}",
    "heroku-key": "HRKU-{w60}",
    "hashicorp-vault-token": "hvs.{w90}",
    "terraform-token": "{a14}.atlasv1.{w64}",
    "shopify-token": "shpat_{h32}",
    "new-relic-key": "NRAK-{U27}",
    "sentry-token": "sntrys_{a80}",
    "grafana-token": "glsa_{a32}_{h8}",
    "linear-key": "lin_api_{a40}",
    "notion-token": "ntn_{a46}",
    "figma-token": "figd_{w40}",
    "postman-key": "PMAK-{h24}-{h34}",
    "dynatrace-token": "dt0c01.{U24}.{U64}",
    "databricks-token": "dapi{h32}",
    "doppler-token": "dp.pt.{a43}",
    "planetscale-token": "pscale_tkn_{w43}",
    "pulumi-token": "pul-{h40}",
    "fly-token": "fo1_{w43}",
    "airtable-token": "pat{a14}.{h64}",
    "age-key": "AGE-SECRET-KEY-1{U58}",
}
"""Tokens that are known by their own form; they can stand in a file name too."""

TEXTS: dict[str, tuple[str, str]] = {
    "private-key": ("-----BEGIN PRIVATE KEY-----\n{%s}\n-----END PRIVATE KEY-----", "a64"),
    "azure-account-key": ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={%s}==;End", "a86"),
    "azure-sas": ("https://x.blob.example/c?sv=2020&sig={%s}%%3D", "a43"),
    "slack-webhook": ("https://hooks.slack.com/services/{%s}", "a44"),
    "discord-webhook": ("https://discord.com/api/webhooks/{%s}", "d18/w68"),
    "discord-token": ("Authorization: Bot {%s}", "w24.w6.w38"),
    "teams-webhook": ("https://x.webhook.office.com/webhookb2/{%s}", "h36"),
    "bearer-token": ("Authorization: Bearer {%s}", "a30"),
    "basic-auth": ("Authorization: Basic {%s}", "a28"),
    "authorization-header": ("Authorization: Token {%s}", "a28"),
    "url-password": ("postgresql://app:{%s}@db.example:5432/app", "a12"),
    "netrc-password": ("machine api.example\n  login jo\n  password {%s}", "a10"),
    "pgpass-password": ("db.example:5432:app:jo:{%s}", "a12"),
    "npmrc-auth": ("//registry.example/:_authToken={%s}", "a32"),
    "docker-auth": ('{"auths":{"r.example":{"auth":"{%s}"}}}', "a40"),
    "password-hash": ("jo:$2y$10${%s}:1", "a53"),
    "session-cookie": ("Set-Cookie: session={%s}; HttpOnly", "a32"),
    "command-password": ("mysql --password {%s} -h db", "a12"),
    "command-user": ("curl -u jo:{%s} https://x.example", "a12"),
    "password": ('"password": "{%s}"', "a11"),
    "api-key": ("API_KEY={%s}", "a12"),
    "command-token": ("mytool --api-key {%s} -v", "a12"),
    "program-password": ("mysql -h db -u root -p{%s} app", "c12"),
    "sql-password": ("ALTER USER jo WITH PASSWORD '{%s}';", "c12"),
    "basic-pair": ("requests.get(url, auth=('jo', '{%s}'))", "c12"),
    "named-password": ("- name: DB_PASSWORD\n  value: {%s}", "c12"),
    "named-token": ("- name: DEPLOY_TOKEN\n  value: {%s}", "a12"),
    "block-password": ("password: |\n  {%s}", "c12"),
    "xml-password": ("<server><password>{%s}</password></server>", "c12"),
    "env-password": ("export PGPASSWORD={%s}", "c12"),
    "env-token": ("export TOKEN={%s}", "a12"),
    "connection-password": ("Server=db;Uid=sa;Pwd={%s};Encrypt=yes", "c12"),
    "query-password": ("https://x.example/?user=jo&password={%s}", "c12"),
    "query-token": ("https://x.example/?token={%s}", "a12"),
    "url-token": ("https://{%s}@git.example/team/x.git", "a40"),
    "assigned-secret": ("encryption_key_of_2024: {%s}", "a40"),
}
"""Secrets that are known by what stands around them, with the shape of the secret itself."""


def token(kind: str, chance: random.Random) -> str:
    """A token of ``kind``."""
    return _fill(SHAPES[kind], chance)


def jwt(chance: random.Random) -> str:
    """A token that looks signed."""
    parts = (base64.urlsafe_b64encode(chance.randbytes(24)).decode().rstrip("=") for _ in range(2))
    return ".".join(["eyJhbGciOiJIUzI1NiJ9", *parts])


def in_context(kind: str, chance: random.Random) -> tuple[str, str]:
    """A secret of ``kind``, and a text that holds it."""
    text, shape = TEXTS[kind]
    secret = "".join(part if part in "./" else _run(part, chance) for part in _split(shape))
    if "a" in shape:
        secret = f"{secret[:-2]}7q"
    return secret, text.replace("{%s}", secret).replace("%%", "%")


def planted(count: int = 4, seed: int = 20260307) -> list[tuple[str, str, str]]:
    """``count`` secrets of each kind: kind, secret, and a text with it."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        for kind in SHAPES:
            secret = token(kind, chance)
            found.append((kind, secret, f"the value is {secret} here"))
        for kind in TEXTS:
            found.append((kind, *in_context(kind, chance)))
        secret = jwt(chance)
        found.append(("jwt", secret, f"x-token {secret}"))
    return found


def _split(shape: str) -> list[str]:
    return shape.replace("/", " / ").replace(".", " . ").split()


def _run(part: str, chance: random.Random) -> str:
    letters = LETTERS[part[0]]
    middle = "".join(chance.choice(letters) for _ in range(int(part[1:]) - 1))
    return middle + chance.choice(ALNUM if part[0] == "w" else letters)


def _fill(shape: str, chance: random.Random) -> str:
    import re

    return re.sub(r"\{([aUlhdw][0-9]+)\}", lambda match: _run(match[1], chance), shape)
