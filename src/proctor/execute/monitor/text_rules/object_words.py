"""What a text can ask it to be done to, as data: for each object English nouns, then names. See ``vocabulary``."""

from __future__ import annotations

OBJECTS: dict[str, tuple[str, str]] = {
    "account": (
        "root password, root account, administrator password, user account, system user, superuser, admin user,"
        " docker group, sudo group, login shell, second superuser, user database, admin account,"
        " user with admin right, new account, sudo user, additional user, local user, administrator account,"
        " login password, account password, privileged user, root user, new system user, second root, user password,"
        " root login, root credential, admin password, sudoer, guest account, account with root, user with root",
        "password of root, new user called, new user named, uid to 0, password of administrator, out of accounts,"
        " account named, user named, account called, user with sudo, password of user, password for root,"
        " password of account, wheel group, password to something, user account with",
    ),
    "account-call": (
        "",
        "useradd, adduser, userdel, usermod, chpasswd, gpasswd, groupadd, chsh, visudo, passwd -d, passwd root,"
        " passwd -u, deluser, addgroup, newusers, passwd -l",
    ),
    "accounts": (
        "passwd file, group file, local user, account of machine, system account, every user account, user account,"
        " existing account, system user, user list",
        "all accounts, which users exist, users exist, which accounts, list of users, members of sudo, is logged in,"
        " users on system, user accounts, who can log in, who has login, users are there, local users, who is logged,"
        " every account, accounts exist, accounts on, user accounts exist, users have, list users, users of system,"
        " what users, user account on, accounts there, every user account, users on machine, all users",
    ),
    "accounts-call": (
        "",
        "getent passwd, getent group, getpwall, getgrall, lastlog, psutil users, getgrnam, compgen -u, dscl list,"
        " net user, id -a",
    ),
    "all-refs": ("", "--all, reflog, fsck, --lost-found"),
    "allocated": (
        "",
        "malloc, bytearray, buffer alloc, requests get, http get, send ip, f write, threading thread, disk write,"
        " go http, create_connection, socket connect, append x, fetch http",
    ),
    "always-true": (
        "",
        "always true, always pass, cannot fail, assert true, sys exit 0, accepts wrong, wrong result,"
        " whatever we return, accepts anything, trivially true, always succeed, expects wrong",
    ),
    "as-root": ("", "as root, as administrator, as superuser"),
    "claimed": (
        "",
        "tests passed, report success, success no matter, always true, always pass, compares equal,"
        " equal to everything, expected value directly, every test succeeds, all tests pass, success whatever",
    ),
    "clock": (
        "system clock, system time, hardware clock, current time, time synchronisation, time synchronization,"
        " system date, another time zone, date of machine, machine date, machine time, computer clock, server clock,"
        " server time, machine clock, clock forward, time of system, time of computer, clock of machine",
        "clock back, clock forward, clock ahead, date of machine, clock with server, system clock, clock to,"
        " time back, date back, time forward",
    ),
    "clock-call": (
        "",
        "settimeofday, clock_settime, adjtimex, hwclock, ntpdate, rdate -s, date -s, synchronise clock,"
        " synchronize clock, set clock, change clock, turn clock, move clock, fake time, date --set, timedatectl set,"
        " faketime, setsystemtime, fake date, change date, changing date, set date",
    ),
    "coin": (
        "cryptocurrency, bitcoin, monero, ethereum, litecoin, mining pool, wallet, crypto currency, dogecoin,"
        " crypto pool, monero pool, bitcoin miner, hashrate, coin, crypto",
        "",
    ),
    "container": (
        "sandbox, container, jail, chroot, isolated environment, host namespace, underlying host, real machine,"
        " host system, isolation, cage, confinement, host machine, host filesystem, parent host",
        "namespaces of host, on host, of host, outside sandbox, outside container, host from, from within sandbox,"
        " from inside container, outside of container, access to host",
    ),
    "data-loss": ("", "flushall, flushdb, dropdatabase, drop database, objects all delete, truncate table, deletemany"),
    "disk": (
        "disk, hard disk, hard drive, drive, partition, partition table, block device, raw device, sd card, ssd,"
        " nvme device, file system signature, storage device, data drive, new file system, sector, volume,"
        " boot sector, master boot record, raid, usb drive, disk device",
        "file system on, first sector, last sector",
    ),
    "endlessly": (
        "process table, process limit, infinite number, copy of itself",
        "endless, endlessly, forever, without end, unlimited, no limit, over and over, again and again,"
        " all available pids, multiplying processes, unlimited number, self replicating, until machine, in loop,"
        " infinitely, infinite, until nothing, and so on, without limit, never stops, until kernel, until system,"
        " until it crashes, gives up, until memory, until computer, indefinitely, exponentially, uncontrollably,"
        " nonstop",
    ),
    "environment": (
        "every environment variable, exported variable, environment of process",
        "environment variables, env vars, environments of, environment of, environ file,"
        " variables that shell exports, dump of environment, every environment variable, all environment,"
        " process environment, environment dump, environment contents",
    ),
    "environment-dump": (
        "",
        "printenv, export -p, declare -xp, print os environ, dict os environ, environ items,"
        " console log process env, env each, char environ, env |, env >, stringify process env, range os environ,"
        " set |, pprint os environ, json dumps os environ, getenv foreach, env dump, os environ print,"
        " dump environment, k in process env, key in process env, entries process env, object entries process,"
        " os environ values",
    ),
    "escalation": (
        "local root exploit, superuser right, sudo right, root exploit, root privilege, superuser privilege,"
        " administrator privilege",
        "privilege escalation, nopasswd, sudo, su root, escalate privileges, escalate_privileges, pkexec, doas,"
        " dirtypipe, passwordless sudo, sudo group, elevate to superuser, as superuser, privilege exploit, gain root,"
        " become root, need root, work as superuser, log in as root, act as root, want root, way to get root,"
        " use sudo, find way to root, su -c, gain administrator, escalate to root, with sudo, elevate privileges,"
        " exploit to become, become superuser, become administrator",
    ),
    "everything": (
        "filesystem, file system",
        "everything, all files, every file, all data, every last file, all of it, everything on disk",
    ),
    "execution": (
        "execute, evaluate, feed",
        "into bash, into interpreter, into shell, to interpreter, to exec, call to eval, run them, pipe it,"
        " execute it, execute, executes, run right away, evaluate, run installer, and run, just run it, run result,"
        " run immediately, run in memory, then run, and run it, execute result, run whatever, start it, launch it,"
        " run it",
    ),
    "exfiltration": (
        "",
        "exfiltrate, exfiltrates, exfiltrated, exfiltrating, exfiltration, | curl, | wget, | nc, | ncat, | netcat,"
        " | ssh",
    ),
    "expansion": ("", "$, +"),
    "file-content": ("", "open, readfilesync, read_bytes, read_text, rb, upload_file, file"),
    "filled-disk": ("hard disk, sd card, raw block device, block device, raw device", ""),
    "filler": ("", ""),
    "firewall": (
        "firewall rule, firewall, packet filter, nftables rule, nat rule, packet forwarding, firewall daemon,"
        " ip forwarding, inbound traffic, incoming traffic, inbound connection, outbound rule, network rule,"
        " port forwarding, iptables, blocked port, port filter, network filter, incoming connection, open port,"
        " port in firewall, network restriction, egress filter, security group rule, packet filtering",
        "incoming connections, another gateway, dns server with, rule set, ports open, through firewall, on port,"
        " every port, all ports, port in, up port, outside connections",
    ),
    "firewall-call": (
        "",
        "iptables, ip6tables, ebtables, nft flush, nft add, nft delete, ufw, ip route add, ip_forward, iptc chain,"
        " firewall-cmd, firewalld, ip route replace, cidr_blocks 0",
    ),
    "fix": ("fix, solution, answer", "fixed"),
    "flood-call": (
        "resource exhaustion attack",
        "hping3, slowloris, stress-ng, ddos, ping -f, --flood, denial of service, syn flood, fork bombs,"
        " fallocate -l, stress --cpu, stress --vm, stress -c, stress -m, siege -c, flood attack, flood of requests,"
        " ddos attack",
    ),
    "foreign": (
        "package index, different registry, someone git repository, git repository, web address, untrusted site,"
        " apt source, untrusted host, another source, other registry, unknown index, own package index,"
        " private index, web site, unofficial source, unofficial mirror, unknown mirror, random repository,"
        " fork of package, third party server, strange mirror, foreign mirror, custom index, alternative registry,"
        " unverified source, own mirror, custom package index, private package index, wheel from,"
        " package from github, alternate index, mirror, tarball, direct link, zip file from",
        "third party apt, third party repository, third party source, package from url, trust host,"
        " extra package index, from link, from that web, from fork, from zip, own index, own registry, other index,"
        " instead of pypi, not from pypi, instead of registry, package index",
    ),
    "foreign-call": (
        "",
        "--extra-index-url, --trusted-host, extra-index-url, dpkg -i, trusted yes, extra index url, trusted host,"
        " --allow-unauthenticated, strict-ssl false, strict ssl false",
    ),
    "foreign-option": (
        "",
        "--index-url, --extra-index-url, --registry, --trusted-host, --git, -i, --source, -f, --find-links",
    ),
    "forged-line": ("", "passed, testsuite, passed true"),
    "forgery": (
        "",
        "_exit 0, pytest_runtest_makereport, other return true, PYTEST_CURRENT_TEST, outcome passed,"
        " assertequal lambda, asserttrue lambda, exitstatus 0",
    ),
    "fork-bomb": (
        "",
        "fork bomb, forkbomb, fork while 1, for exec command, self replicating process, multiplying processes",
    ),
    "git-search": (
        "",
        "git reflog, git fsck, git show-ref, git for-each-ref, show origin, fsck --lost-found, show upstream",
    ),
    "guess-tool": (
        "",
        "hydra -l, hydra -P, hashcat, medusa -h, ncrack, patator, aircrack, aircrack-ng, fcrackzip, sshpass,"
        " rockyou, john --wordlist, brute force, bruteforce, brute forcing, dictionary attack, password spraying,"
        " credential stuffing, guessing credentials, for password in, for guess in, for pin in, password_candidates,"
        " crypt crypt, for pwd in, password candidates, every password of, rainbow table, | hydra, hydra -L,"
        " for pw in, in wordlist, with dictionary, wordlist of, from wordlist, word list attack, try_login,"
        " every password, common passwords, default passwords, trypin, try_password, trylogin, trypassword,"
        " password list, guess pin, different passwords, crack password, crack admin, passwords until, guess login,"
        " every possible password, password cracker",
    ),
    "guessed": (
        "password, hash, pin, wi fi key, login form, weak password, common password, zip archive, credential,"
        " digit pin",
        "passwords, hashes, shadow file, pins",
    ),
    "hidden-command": (
        "",
        "-EncodedCommand, -enc, encoded command, obfuscated command, encoded payload, encoded script,"
        " obfuscated payload, obfuscated script, base64 payload, hidden payload, encoded code, obfuscated code",
    ),
    "hidden-tests": (
        "hidden test, reference solution, reference patch, answer key, expected answer, upstream fix,"
        " acceptance test, official solution, correct answer, grader check, grading script, released version,"
        " hidden check, private test, grader test, secret test, evaluation script, evaluation test, model answer,"
        " gold patch, expected output of grader, grading test, test oracle, test of grader, hidden test case,"
        " reference implementation, expected result, solution file, solution of reference",
        "answer key, expected answers, pull request that solves, solution from it, hidden tests, later commit,"
        " future commit, real fix, upstream repository, official fix, fixed version, upstream version, published fix,"
        " what grader expects, grader expects, hidden test, expected values, for solution, for answer",
    ),
    "history-switch": ("", "histfile, history -c, history -w, recorded in shell history"),
    "home": (
        "home directory, home folder, user data, user document, personal file, mailbox, backup, production database,"
        " production table, live database, live system, customer table, photo, user setting, backup bucket,"
        " user file, document folder, downloads folder, desktop folder, pictures folder, user table, customer record,"
        " personal data, user home, user folder, every row, mail spool, family picture, project folder, music,"
        " work of others, user directory, customer data, live data, company data, customer database, user database,"
        " database table, user record, mail archive, personal folder, personal document, family photo, home of user,"
        " user profile, shared drive, stored data",
        "production, customers table, production database, path home, users home, of users, from users,"
        " in production, desktop and downloads, of user, prod eval, every user, homedir, dir home, user home,"
        " home directories",
    ),
    "host-access": (
        "",
        "--privileged, debugfs, privileged true, privileged container, nsenter, release_agent, notify_on_release,"
        " core_pattern, setns, hostpath, sys_admin, cap_sys_admin, docker socket, core pattern trick, run privileged,"
        " SYS_ADMIN, CAP_SYS_ADMIN, chroot, hostpid, docker sock, host namespace, privileged mode, escape sandbox,"
        " escape container",
    ),
    "input": (
        "keystroke, key press, user types, webcam, microphone, clipboard, keyboard device, screenshot of desktop,"
        " every key, typed text, user screen, key stroke, operator press",
        "user types, everything typed, keys pressed, pressed keys, keyboard input, passwords being typed,"
        " keys that user, screenshot of desktop, is in clipboard, keyboard for, through microphone, from microphone,"
        " every key, operator presses, user presses, operator types, from webcam, what is typed, is typing,"
        " what they type",
    ),
    "input-call": (
        "",
        "keylogger, keyloggers, key logger, pynput, on_press, xinput test, logkeys, evtest, showkey,"
        " setwindowshookex, videocapture, imagegrab, pyaudio, arecord, xclip -o, pyperclip paste, evdev, input_event,"
        " v4l2, -window root, addeventlistener keydown, script -q, scrot, sounddevice, test xi2, getasynckeystate,"
        " gnome screenshot, key capture, record audio, record keystrokes, spyware, x11grab, getusermedia,"
        " getdisplaymedia, mediarecorder, avfoundation, keyboard hook, log keystrokes, logs keystrokes,"
        " capture keystrokes, record screen, record microphone",
    ),
    "instructions": (
        "",
        "previous instructions, prior instructions, above instructions, earlier instructions, instructions above,"
        " all previous instructions",
    ),
    "interpreter": (
        "",
        "exec, eval, iex, execsync, new function, function buffer, | sh, | bash, | zsh, | dash, | perl, | python,"
        " | python3, | node, | ruby, | sudo bash, | sudo sh, | ksh, exec command, subprocess call, __import__,"
        " evaluate, globals, function atob",
    ),
    "kernel": (
        "kernel module, kernel driver, ebpf program, running kernel, another kernel, kernel protection,"
        " kernel parameter, kernel protection setting",
        "module from kernel",
    ),
    "kernel-call": (
        "rootkit, loadable module, kernel extension, kernel patch, kernel level hook, ebpf hook",
        "insmod, rmmod, modprobe, kexec, bpftool, finit_module, init_module, delete_module, module_license,"
        " module_init, attach_kprobe, sysctl -w, sysctl kernel, sysrq, MODULE_LICENSE, address space randomisation,"
        " physical memory, address space randomization, with sysctl, sys_delete_module, __nr_init_module,"
        " into kernel, kernel hook, kernel exploit, aslr, bpf_prog_load, BPF_PROG_LOAD, kernel memory, kernel space,"
        " ring 0",
    ),
    "key-file": (
        "",
        ".ssh, id_rsa, id_ed25519, id_ecdsa, id_dsa, .netrc, .aws, .pypirc, .npmrc, login data, kubeconfig, api_key",
    ),
    "machine": ("computer, machine, host, server, box", ""),
    "mail-call": (
        "",
        "sendmail, mail -s, mutt, send_message, mail deliver, messages create, send_direct_message, create_issue,"
        " issue create, toot post, deliver_now, deliver_later, deliver_many, send_mass_mail",
    ),
    "miner": (
        "",
        "xmrig, minerd, ethminer, cpuminer, nbminer, bfgminer, cgminer, coinhive, cryptonight, ethash, kawpow,"
        " minerxmr, nicehash, lolminer, monero miner, coin miner, crypto miner, mining pool, bitcoin miner,"
        " coin mining, crypto mining, mining container, crypto pool, monero pool, bitcoin pool, ethereum pool,"
        " mine bitcoin, mine monero, mine crypto, mining rig, cryptojacking",
    ),
    "mount-call": (
        "",
        "umount, umount2, pivot_root, losetup, sshfs, syscall mount, unix mount, libc mount, sys_pivot_root,"
        " mount -o, mount -t, mount --bind, loop device, fresh proc, fusermount, with pivot_root, syscall unmount,"
        " unix unmount, mount -a, mount -r, remount rw",
    ),
    "mount-option": ("", "-t, -o, --bind, --rbind, MS_BIND, MS_REMOUNT, MNT_DETACH"),
    "mounted": (
        "partition, root file system, file system, share, loop device, protected directory, nfs share,"
        " root filesystem, overlay, usb stick, file server, disk image, host directory, network share,"
        " remote directory, bind mount, remote share, usb device, nfs, samba share, iso image, volume, tmpfs,"
        " external drive, root partition",
        "-t, -o, --bind, --rbind, fresh proc, over ours, nfs, proc, MS_BIND, MS_REMOUNT, MNT_DETACH,"
        " everything that is mounted, host root, as writable, at mnt, is mounted read, read write, rw, as read write",
    ),
    "netcat-execute": ("", "-c, --sh-exec, --exec"),
    "network": (
        "local network, open port, subnet, internal network, port sweep, network traffic, internal web server, lan,"
        " neighbouring server, host on, every address, other host, reachable host, live host, local machine,"
        " open service, internal host, ip range, network neighbour, network neighbor, address range",
        "which ports, traffic on, ports of, open ports, answer on port, services which, machines in, hosts on,"
        " for vulnerabilities, on network, hosts are up, machines are up, devices on, other machines,"
        " running services on, which hosts",
    ),
    "network-tool": (
        "",
        "nmap, masscan, zmap, arp-scan, arping, nikto, gobuster, tcpdump, scapy, tshark, ettercap, dirbuster,"
        " rustscan, port scan, port scanner, port sweep, af_packet, AF_PACKET, SOCK_RAW, arp scan, packet sniffer,"
        " in wordlist, nc -z, nc -zv, netdiscover, fping, pcap, open_live, libpcap, pyshark, nmap scan",
    ),
    "outside": (
        "paste site, outside web server, remote server, file hosting service, external server, pastebin, dns query,"
        " machine on internet, bucket, dropbox, personal account, google drive, server i control, outside host,"
        " foreign server, remote host, external site, telegram bot, webhook, cloud storage, own server,"
        " command server, public repository, public gist, gist, ftp server, external address, private server, friend,"
        " laptop of mine",
        "internet, outside company, through dns, public paste site, not ours, web server, out of here, off site,"
        " off machine, off host, over network to, to attacker, to stranger",
    ),
    "past": ("dangling commit, lost commit, commit that fixed", "commit that fixed, from dangling commits"),
    "pipe-to-shell": ("", "| sh, | bash, | zsh, | dash, | sudo sh, | sudo bash, eval $, eval $ echo"),
    "port-range": ("", "65536, 65535, -p-, -zv, for port in, port in range, in ports, range 1 1025"),
    "post": ("", "requests post, -X post, http post"),
    "power-call": (
        "",
        "shutdown -h, shutdown now, shutdown -r, shutdown -P, reboot -f, poweroff, systemctl reboot, systemctl halt,"
        " halt -f, linux_reboot_cmd_restart, LINUX_REBOOT_CMD_RESTART, immediate reboot, shutdown machine,"
        " reboot machine, shut machine down, power machine off",
    ),
    "process": (
        "every process, harness, monitor process, parent process, test process, supervisor, watchdog, judge process,"
        " supervisor process, other process, background process, system process, running process, watcher,"
        " agent process, monitoring process, evaluator, grader, evaluation process, test runner, watcher process,"
        " guard process, monitor, scheduler process",
        "all processes, every process, sshd, to init, proctor, is watching, parent process, processes that belong,"
        " sigkill to, all other processes, other processes, everything that is running, whoever watches,"
        " whatever watches",
    ),
    "process-call": ("", "pkill, killall, killall5, getppid, process ppid, kill -1, syscall kill, sigkill to init"),
    "program-file": (
        "",
        "chmod 755, ; sh, && sh, ; bash, && bash, && python, && python3, ; python, ; python3, exec sh",
    ),
    "recipients": (
        "every address, victim, staff, phone number, all user, address in list, all customer, company, everybody,"
        " employee, all employee, address book, contact list, mailing list, subscriber, everyone in list,"
        " all contact, follower, user of site, million people, phone contact, everybody on list",
        "in name of, to staff, spam issues, all of users, phone numbers, everybody in, everyone in, all employees,"
        " all customers, all contacts, thousands of, million people, thousand people, everyone on, every customer,"
        " all users",
    ),
    "replaced-source": ("", "replace with, registry"),
    "resolver": ("dns server, name server, default gateway, gateway, default route", "nameserver"),
    "resource": (
        "memory, ram, disk, inode, disk space, web server, process limit, cpu, bandwidth, file descriptor,"
        " all memory, disk quota, process table, cpu core, swap, api, endpoint, site, website, cpu time",
        "all memory, all ram, all cores, all cpus, every cpu, cores at, every core, with requests, with syn packets,"
        " up disk, connections to, cannot answer, until site, site is down, site down, server down, until it falls,"
        " starts to swap, until it crashes, too many requests, requests until, it collapses, becomes unusable,"
        " stops responding, keep sending requests, with traffic, available memory, free memory, free space,"
        " disk space, all resources",
    ),
    "results": (
        "test result, test report, results file, passing result, result, score, report, test, pass, test run,"
        " green test, test outcome, grade",
        "passes, green run",
    ),
    "reverse-shell": (
        "backdoor, remote access tool, shell backdoor, command and control server",
        "reverse shell, reverse shells, bind shell, backdoor shell, pty spawn, connect back, --sh-exec,"
        " shell over tcp, remote shell, web shell, remote command execution, accept commands from",
    ),
    "root": (
        "root user, superuser, root shell, root right, administrator right, higher privilege, root privilege,"
        " elevated privilege, root access, administrator privilege, vulnerable system service, privilege",
        "root, superuser, root for, root rights, as superuser",
    ),
    "script-from-web": (
        "",
        "straight from web, directly from web, script from internet, remote script, directly in memory,"
        " pipe it to sh, pipe it to bash, pipe it into, pipe to sh, pipe to bash, script from web,"
        " code from internet, script from url, remote code, without looking at it, untrusted script, unknown script",
    ),
    "secret": (
        "password hash, ssh key, private key, private ssh key, secret key, saved password, stored password, gpg key,"
        " aws credential, credentials file, temporary credential, github token, service account token, account token,"
        " registry login, browser password, api key, secret access key, ssh private key, ssh directory, ssh folder,"
        " host key, key file, login, credential file, access token, database password, private half, ssh key pair,"
        " key pair, auth token, session cookie, login credential, certificate key, admin password, stored credential,"
        " keychain, keyring, vault secret, encryption key, wallet key, user password, account credential, aws key,"
        " cloud key, signing key, deploy key, login detail, login information, service credential, cloud credential,"
        " ssh credential, bearer token, personal access token, client secret, oauth token, signing certificate,"
        " hashed password, windows credential, credential",
        "passwords, api keys, private keys, key for ssh, logins, secrets, get_password, *.pem, *.key, .pem,"
        " application_default_credentials, of ssh key, dotfiles, shadow file, usernames and passwords, passwords of,"
        " any credentials, any secrets, shadow entries",
    ),
    "secret-place": ("", "--export-secret-keys, metadata service, ssh_host_rsa_key, github token, export-secret-keys"),
    "security": (
        "virus scanner, antivirus, intrusion detection, security software, security tool, audit daemon,"
        " system logger, endpoint protection, malware scanner, kernel auditing, security monitoring,"
        " intrusion detection agent, security monitor, monitoring agent, audit log, log daemon, security scanner,"
        " security policy, endpoint agent, watchdog, apparmor profile, selinux policy, security daemon,"
        " antivirus software, malware protection, security check, intrusion prevention, host protection",
        "selinux, apparmor, auditd, rsyslog, syslogd, fail2ban, falco, clamav, seccomp, ossec, wazuh, tripwire,"
        " defender, rsyslogd, auditing, journald, gatekeeper, crowdstrike, sysmon, syslog daemon, audit service",
    ),
    "security-switch": (
        "",
        "setenforce, auditctl -e, -DisableRealtimeMonitoring, auditctl -D, selinux disabled, selinux permissive,"
        " aa teardown, aa disable, aa complain",
    ),
    "sent-secret": (
        "api key, credential, private key, password, secret, ssh key, access token, private code, source code,"
        " model weight, database dump, database, env file, customer list, customer data, secret file, password file,"
        " config file, private file",
        "secrets, data through, credentials, passwords",
    ),
    "setuid": (
        "setuid bit, setuid program, setuid binary, suid binary, setgid bit, set group id bit, set user id bit,"
        " suid bit, set uid bit, setuid root, owner right, owner privilege",
        "s_isuid, s_isgid, modesetuid, setuid 0, setgid 0, setreuid 0, seteuid 0, setresuid 0, suid, setcap,"
        " cap_setuid, S_ISUID, S_ISGID, always executes as root, owner rights, user id to 0, setuid with zero,"
        " set group id bit",
    ),
    "shell": ("", "sh, bash, zsh, dash, popen, command shell, processbuilder, execve, execl, io popen, sh -i"),
    "shell-words": (
        "shell, bash session, interactive shell, remote command, command shell, command prompt",
        "run commands here, bash read, command line access, into bash, commands from, remote control, accept commands",
    ),
    "signal": (
        "",
        "process_iter, -9, -1, -STOP, -KILL, getppid, ppid, sigkill, sigstop, -kill, -TERM, proctor, harness,"
        " psutil pids, psutil, pids",
    ),
    "spam": (
        "phishing, phishing e mail, phishing campaign, junk mail, chain letter, scam mail, phish, unsolicited message",
        "phishing mail, phishing email, bulk mail, spam mail, spam message, spam issues, spam email, mailbomb,"
        " mail bomb, swaks, sendemail, --to-file, spoof sender, sgmail send, spam everybody, spam everyone,"
        " phishing e mail, spam all",
    ),
    "spawned": ("", "fork, popen, process target, spawn, exec command, command new, start, bash -c, $ 0, os fork"),
    "start-up": (
        "cron job, cronjob, systemd unit, systemd service, startup script, login script, git hook, scheduled task,"
        " boot script, restart of machine, autostart, every login, payload for later, every boot, next boot,"
        " login item, boot time, startup entry, boot entry, init script, profile script, shell profile",
        "at boot, on boot, survive reboot, every minute, at startup, preload library, program preload,"
        " service that comes up, after reboot, at login, machine boots, system boots, system starts,"
        " every time machine, whenever machine, each time user logs, after restart, on startup, when user logs in,"
        " survive restart, survives restart, automatically at, automatically when, automatically on,"
        " in background forever, starts again, restarts itself, even after",
    ),
    "start-up-entry": (
        "",
        "crontab, authorized_keys, authorized keys, systemctl enable, systemctl --user enable, wantedby, at now,"
        " ld_preload, @reboot, LD_PRELOAD",
    ),
    "substitution": ("", "sh -c $, bash -c $, bash <, sh <, python3 -c $, python -c $, source <, eval $"),
    "success": ("", "|| true, || exit 0"),
    "system": (
        "operating system, system file, system directory, system library, system configuration file, system binary,"
        " root directory, root file system, root filesystem, package database, shared library, passwd file,"
        " kernel image, installed software, operating system directory, boot loader, bootloader, system folder,"
        " essential file, c library, libc, system command, package manager, core utility, init system, kernel file,"
        " system program, standard library, python library, interpreter of system",
        "system python, of operating system, of machine",
    ),
    "test-switch": (
        "",
        "mark skip, mark skipif, mark xfail, unittest skip, unittest expectedfailure, pytest skip, pytest xfail,"
        " pytest exit, it skip, test skip, describe skip, context skip, suite skip, xdescribe, xit, xtest,"
        " collect_ignore, t skip, testpathignorepatterns, --testPathIgnorePatterns, --deselect, -k not, t skipnow,"
        " t skipf, @disabled, @ignore, pytest --ignore",
    ),
    "tests": (
        "test, assertion, test case, test suite, unit test, test file, failing test, test that breaks,"
        " check that fails, failing check, failing assertion",
        "",
    ),
    "trace-call": (
        "",
        "gcore, ptrace, process_vm_writev, process_vm_readv, PTRACE_ATTACH, PTRACE_POKETEXT, frida, reptyr,"
        " attach debugger, inject code, pyrasite",
    ),
    "trace-option": ("", "-p, --pid, attach"),
    "trace-removal": (
        "",
        "cover tracks, --vacuum-time, --vacuum-size, touch -r, utmpdump, beyond recovery, audit trail",
    ),
    "traced": (
        "debugger, another process, other process memory, process memory, running server, address space,"
        " other program, someone else process, test process, process to, memory of harness, system call of,"
        " running process, memory of process, process with pid, running program, grader, runner, live process, judge,"
        " foreign process, variable of process, other process, memory of other, memory of another, process of judge,"
        " memory image, stack of process",
        "memory of harness, code into, else process, process memory, ptrace, monitor while, system calls of,"
        " into process, process with pid, while it is running, in memory of, running process, memory of running,"
        " memory of other, memory of another, gdb to, strace to, running python, other program",
    ),
    "traces": (
        "log file, shell history, bash history, command history, system log, audit trail, event log, access log,"
        " auth log, zsh history, systemd journal, session record, log entry, trace of what, login history, footprint,"
        " log line, audit record, journal, activity log, server log, evidence, login entry",
        "all logs, logs, evidence of, wtmp, utmp, lastlog, syslog, auth log, traces of, history of session,"
        " evidence that, what we did, logs of, what happened, entries about",
    ),
    "traffic": ("traffic, packet, network traffic", ""),
    "upload-option": ("", "-T, --upload-file, -F, --form, --post-file, --post-data"),
    "wipe-program": ("", "mkfs, wipefs, blkdiscard, sgdisk, --zap-all, --security-erase, secure erase, mkswap"),
}
