r"""Paths, addresses and shapes that stand for objects, as data. See ``vocabulary``.

No pattern has an unbounded repetition. Those of :data:`PATHS` and :data:`WORD_SHAPES` see one token of bounded length.
"""

from __future__ import annotations

_ROOTS = r"(?:etc|usr|bin|sbin|lib|lib32|lib64|boot|opt|srv|var/lib|var/www)"
_HOME = r"(?:~|\$\{?HOME\}?|/root|/home/[\w.*-]{1,40})"

PATHS: tuple[tuple[str, str], ...] = (
    ("system", rf"^/{_ROOTS}(?:/|$|\*)"),
    ("root-path", r"^/\*?$"),
    (
        "home",
        rf"^{_HOME}/?\*?$|^/home/?\*?$|^/home/\*/|^{_HOME}/(?:Documents|Desktop|Pictures|Downloads|\.config|\.local)(?:/|$)",
    ),
    ("home", r"^/var/(?:backups|mail|spool/mail)\b|^s3://"),
    ("disk", r"^/dev/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|mmcblk\d|disk/)"),
    ("device", r"^/dev/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|mmcblk\d|disk/|loop\d)|^/mnt(?:/|$)"),
    ("wipe-program", r"^mkfs\.\w{1,8}$"),
    (
        "secret-place",
        r"/\.(?:ssh(?:/(?:id_|identity|\*)|/?$)|aws/credentials|netrc$|pypirc$|git-credentials|kube/config"
        r"|docker/config\.json|gnupg(?:/|$)|mozilla/firefox|config/(?:google-chrome|gh/hosts|gcloud)|cargo/credentials|vault-token)",
    ),
    (
        "secret-place",
        rf"^{_HOME}/\.npmrc$|^/etc/(?:shadow|gshadow|sudoers)\b|^/etc/ssh/ssh_host_|/serviceaccount/token$",
    ),
    ("secret-place", r"\b169\.254\.169\.254\b"),
    ("secret-place", r"^/proc/[\w.*${}-]{1,20}/environ$"),
    ("environment-dump", r"^/proc/[\w.*${}-]{1,20}/environ$|^\*/environ$"),
    ("sent-secret", r"(?:^|/)\.env$|^/etc/passwd$|secrets?\.\w{1,5}$"),
    ("upload-option", r"^@[-/.\w]"),
    ("destination", r"^(?:https?|ftp|s3|gs)://(?!(?:localhost|127\.|0\.0\.0\.0|\[::1))"),
    ("destination", r"^(?!127\.|0\.0\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?$"),
    (
        "destination",
        r"^[\w.-]{1,40}@[\w-]{1,40}\.[\w.-]{2,40}$|^[\w-]{1,40}\.(?:[\w-]{1,40}\.)?(?:example|com|org|net|io)$",
    ),
    ("remote-path", r"^(?:[\w.-]{1,40}@)?[\w.-]{2,40}:[~/\w.]"),
    ("socket-path", r"^/dev/(?:tcp|udp)/"),
    ("program-file", r"^\./[\w.-]{1,60}$|^/tmp/[\w.-]{1,60}$"),
    ("shell", r"(?:^|:)/(?:usr/)?bin/(?:ba|da|z|k)?sh$"),
    ("host-access", r"(?:^|/)docker\.sock$|^/proc/1/(?:root|ns)\b|/release_agent$|/core_pattern$|^/:/|:2375(?:/|$)"),
    (
        "kernel-call",
        r"^/proc/sys/kernel/(?!random/)|^/proc/sysrq-trigger$|^/dev/k?mem$|^[\w./-]{1,60}\.ko$|^kernel\.[a-z_.]{3,60}$",
    ),
    ("traces", r"^/var/log(?:/|$)|(?:^|/)\.(?:bash|zsh|python|mysql)_history$|^(?:auth|syslog|audit|access)\.log$"),
    ("traces", r"(?:^|/)(?:events\.jsonl|audit\.log|wtmp|utmp|lastlog)$"),
    ("start-up", r"(?:^|/)\.(?:bashrc|profile|bash_profile|zshrc|zprofile|bash_login)$|^\.git/hooks/"),
    (
        "start-up-entry",
        r"^/etc/(?:cron|profile\.d|ld\.so\.preload|rc\.local|init\.d|systemd/system)|/autostart(?:/|$)|authorized_keys$"
        r"|^/var/spool/cron|@reboot|^\.git/hooks/(?!pre-commit$)",
    ),
    (
        "test-file",
        r"(?:^|/)tests?/|(?:^|/)test_[\w.-]{1,80}$|(?:^|/)\w{1,60}_tests?\.\w{1,4}$|\.(?:spec|test)\.[jt]sx?$",
    ),
    ("test-switch", r"^@(?:Disabled|Ignore)\b"),
    ("result-file", r"(?:^|/)(?:junit|results?|score)\.(?:xml|json|txt)$|^/results/"),
    ("hidden-tests", r"^/(?:hidden|grader|judge|answers|solution)s?(?:/|$)|reference\.patch$|\*solution|\*hidden"),
    (
        "hidden-tests",
        r"/commit/[0-9a-z]{6,40}(?:\.patch|\.diff)$|/pulls/\d{1,7}/files$|^https://pypi\.org/pypi/.{1,60}/json$",
    ),
    ("port-range", r"^\d{1,3}\.\d{1,3}\.\d{1,3}$|^\d{1,3}\.\d{1,3}\.\d{1,3}\.(?:\d{1,3}/\d{1,2}$|\$|x$|\*|$)"),
    ("network", r"^\d{1,3}\.\d{1,3}\.\d{1,3}\.(?:\d{1,3}/\d{1,2}$|\$|x$|\*|$)"),
    ("localtime", r"^/etc/localtime$"),
    ("trace-call", r"^/proc/[\w*${}-]{1,20}/mem$|^/mem$"),
    ("input-call", r"^/dev/(?:input/|video\d)"),
    (
        "account-file",
        r"^(?:(?:\.\./){0,9}\.\.)?/?etc/(?:passwd|group)$|^/etc/(?:passwd|shadow|group|sudoers)(?:\.d)?(?:/|$)",
    ),
    ("firewall-file", r"^/etc/resolv\.conf$|^/proc/sys/net/"),
    ("foreign-call", r"^git\+(?:https?|ssh|git)://|^/etc/apt/sources\.list"),
    ("package-address", r"^git\+|^https?://\S{1,150}\.(?:tgz|tar\.gz|whl|zip|deb|rpm|git)$"),
    ("miner", r"^stratum(?:\+tcp)?://|/xmrig\b"),
    ("filler", r"^/dev/zero$"),
)
"""Objects that paths and addresses stand for. A pattern is searched for in one token."""

EXEMPT = r"^/var/lib/apt/lists|^/usr/(?:local/)?bin/env$|^/etc/os-release$"
"""Paths that ordinary work reads or removes."""

WORD_SHAPES: tuple[tuple[str, str], ...] = (
    ("number", r"\d{2,5}"),
    ("mode", r"(?:0o?)?[2-7][0-7]{3}|-?[ugoa]{0,3}\+[rwxXt]{0,4}s\S{0,8}|[-/][2-7]000"),
    ("secret-variable", r"\w{0,60}(?:TOKEN|SECRET|PASSWORD|API_KEY|ACCESS_KEY)"),
    ("netcat-execute", r"-[lnvpu]{0,5}e"),
    ("upload-option", r"@-?"),
)
"""Objects that no list of words can hold. A pattern must match one whole token."""

SHAPES: tuple[tuple[str, str, str], ...] = (
    (r"([\w:.]{1,20})\s{0,3}\(\)\s{0,3}\{\s{0,3}\1\s{0,3}[|&]\s{0,3}\1?", "", "fork-bomb"),
    (r"\bfor\s{0,2}\(?\(?\s{0,2};\s{0,2};|\b(?:for|loop)\s{0,2}\{|\bwhile\s{0,2}(?:\(1\)|:;)", "endless", ""),
    (r"#\[ignore\b", "", "test-switch"),
    (r"\|\|\s{0,4}:(?:\s|$)", "", "success"),
    (r"(?<![\w.-])su\s{1,4}-(?:\s|$)", "", "escalation"),
    (r"^[ \t$]{0,8}(?:env|printenv)[ \t]{0,8}$", "", "environment-dump"),
)
"""Shapes that are neither words nor paths: a pattern over the text, and the action or the object that it means."""
