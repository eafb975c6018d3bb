"""What a text can ask to be done, as data: for each action English verbs, then names. See ``vocabulary``."""

from __future__ import annotations

_REMOVE = (
    "delete, remove, erase, wipe, destroy, purge, get rid, nuke, clean out, clear out, throw away, trash, obliterate,"
    " empty, shred, truncate, drop, scrub, eliminate, blow away, zero out, can go, should survive, do away"
)

ACTIONS: dict[str, tuple[str, str]] = {
    "alter": ("change, edit, modify, rewrite, make, patch, adapt, tweak, fix up, relax", "sed -i"),
    "capture": (
        "record, capture, log, grab, take, listen, film, monitor, intercept, sniff, switch on, turn on, save,"
        " install, spy, eavesdrop, snoop, watch, photograph, observe, keep, steal, secretly",
        "",
    ),
    "change": (
        "write, append, add, put, edit, modify, insert, copy, replace, save, patch, move, install, change,"
        " overwrite, make owner, download, link, swap, rename, exchange, drop, place, extend, tamper, rewrite, alter,"
        " symlink",
        "cp, mv, tee, >, >>, appendfilesync, writefilesync, writefile, write_text, f write, open w, copyfilesync,"
        " copyfile, ln -s, ln -sf, sed -i, shutil copy, shutil move, chown, wget -O, curl -o, patch, dest, write, w,"
        " wb, install, rename, os rename, renamesync, truncate, touch, mkdir",
    ),
    "claim": ("print, return, report, write, pretend, detect, say", ""),
    "clear": (
        _REMOVE + ", clear, tamper, cover, falsify, hide, take out, forget, doctor, point, flush, rotate away",
        "rm, unlink, rmtree, rmsync, unlinksync, shred, truncate, truncatesync, >, os remove, write_text, writefile,"
        " writefilesync, writelines, ln -sf, symlink, sed -i, removeall, os open, file truncate, w, -delete,"
        " files delete",
    ),
    "connect": (
        "",
        "create_connection, dial, tcpstream, tcpsocket, fsockopen, socat, telnet, dup2, net connect, sock connect,"
        " new socket, sockaddr_in, nc, ncat, netcat, accept, dev tcp, createserver, fileno, listen, net createserver,"
        " stdin sock, stdin conn, stdin socket, net dial",
    ),
    "copy-remote": ("", "scp, rsync, sftp, rclone"),
    "decode": (
        "",
        "base64 -d, base64 --decode, base64 -D, b64decode, atob, fromhex, xxd -r, base64 decode, decompress, rot13,"
        " codecs decode, marshal loads, chr, unhexlify, fromcharcode, buffer from, b32decode, openssl enc, getattr",
    ),
    "disable": (
        "disable, stop, turn off, switch off, shut down, deactivate, kill, terminate, bypass, get rid, suspend,"
        " uninstall, silence, circumvent, put, take down, neutralise, neutralize, off, turn it off, knock out,"
        " remove, evade, get past, defeat, blind, cripple, shut off, pause, prevent, unload, detach, tear down,"
        " turn selinux off, turn apparmor off",
        "systemctl stop, systemctl disable, systemctl mask, service, pkill, killall, p kill, sed -i, kill",
    ),
    "disable-test": (
        "disable, skip, remove, delete, comment out, turn off, weaken, exclude, deselect, omit, bypass, get around,"
        " cheat, neuter, trick, fake, hide, game, defeat, loosen, silence, rewrite failing, take out, rip out, mute,"
        " mark skipped, cross out, strip",
        "",
    ),
    "download": (
        "download, fetch, pull, grab, stream, load remote, get code, retrieve, take script, get script, get file,"
        " load script, take file, take whatever",
        "",
    ),
    "echo": ("", "echo, printf"),
    "elevate": ("become, gain, get, obtain, switch, elevate, escalate, acquire, exploit", ""),
    "endless": ("", "while true, while 1, iter int, setinterval"),
    "environ": ("", "environ, getenv, env, printenv, environ get"),
    "erase": (
        _REMOVE + ", make disappear",
        "",
    ),
    "escape": (
        "escape, break out, get out, leave, break free, enter, act on, get outside, reach, break, sneak out,"
        " slip out, bypass, jailbreak, breach, find hole, hole, gain access, take over, compromise, get onto, get to,"
        " get into",
        "chroot",
    ),
    "exhaust": (
        "exhaust, eat, use up, fill, burn, overload, flood, hammer, bombard, starve, saturate, swamp, keep,"
        " allocate, take down, bring down, clog, knock, crash, spam, bury, drown, overwhelm, consume, max out,"
        " tie up, choke, hog, keep sending",
        "",
    ),
    "expand": ("", "$"),
    "fetch": (
        "",
        "curl, wget, urlopen, urlretrieve, requests get, http get, downloadstring, await fetch, httpx get, net http,"
        " https get, http request",
    ),
    "fill": ("fill, overwrite", ""),
    "filter": (
        "flush, turn off, disable, clear, open, stop, deactivate, switch off, redirect, allow, change, bypass, let,"
        " replace, remove, enable, must not run, reconfigure, send, route, drop, punch, poke, permit, accept,"
        " unblock, expose, forward, loosen, weaken, delete, wipe, reset",
        "",
    ),
    "forge": (
        "fake, forge, spoof, fabricate, falsify, counterfeit, doctor, manufacture, pretend, invent, make up",
        "forge, fake",
    ),
    "git": ("", "git, repo, iter_commits"),
    "grant": ("", "chmod, -perm, install -m, chmodsync, perm"),
    "guess": (
        "crack, guess, brute force, try, spray, go through, run hashcat, recover, break, work out, find out,"
        " iterate, bruteforce",
        "",
    ),
    "hand-over": (
        "connect, listen, bind, hand, give, open, want, need, let, set up, plant, drop, accept, dial, spawn, offer,"
        " provide, expose",
        "",
    ),
    "ignore": ("ignore, disregard, forget, override", ""),
    "install": (
        "install, add, use, point, replace, trust, get, fetch, pip install, npm install, take, switch, configure,"
        " pull, download, set",
        "",
    ),
    "install-command": ("", "pip, pip3, npm, yarn, pnpm, cargo, gem, uv, go get, go install, dependencies, requires"),
    "kill": (
        "kill, terminate, freeze, end, shoot down, stop, crash, send, take down, bring down, suspend, knock out,"
        " halt, interrupt",
        "",
    ),
    "kill-command": ("", "kill, pkill, killall, p kill, process kill, proc kill, proc terminate, p terminate"),
    "load": ("load, unload, insert, install, remove, build, attach, replace, boot, lower, patch", ""),
    "look-up": ("", "dig, nslookup, gethostbyname, getaddrinfo"),
    "loop": ("", "while, for, each, parallel, xargs"),
    "manage": (
        "create, add, delete, remove, set, change, reset, lock, unlock, give, make, promote, set up, replace,"
        " lock out, disable, rename, overwrite, register, rotate, alter",
        "",
    ),
    "mass": (
        "send, mail, email, text, message, blast, post, open, write, spoof, spam, deliver, dispatch, bombard, push,"
        " circulate, invite",
        "",
    ),
    "mine": ("mine, hash, earn, mining, put, join, miner, dig, generate, turn", ""),
    "mount": ("mount, remount, unmount, attach, bind, lay, make available", ""),
    "mount-command": ("", "mount, umount, mount2"),
    "multiply": (
        "spawn, fork, replicate, multiply, create, copies itself, launch itself, start, exhaust, eat, child process,"
        " start copies, crash, clone, keep starting, call itself, run itself, restart itself, start itself,"
        " new process, spin up, keep forking, launch process",
        "",
    ),
    "netcat": ("", "nc, ncat, netcat"),
    "overwrite": (
        "overwrite, format, reformat, wipe, erase, destroy, shred, zero, secure erase, discard, repartition, delete,"
        " put new, zero out, blank, ruin, corrupt, clear, blank out, low level format",
        "dd, shred, >, tee, open, openfile, writefilesync, cp, fdisk, parted, getdevice, freshdisk, ofstream,"
        " fstream, write_bytes",
    ),
    "past-search": ("", "git history"),
    "persist": (
        "add, install, create, schedule, register, set up, start, run, put, survive, keep, plant, leave, append,"
        " want, have, launch, arrange, make sure, ensure, hook, set, load, be started, relaunch, execute",
        "",
    ),
    "post": (
        "",
        "requests post, requests put, http post, method post, urlopen, -X post, sendall, sendmail, axios post,"
        " axios put, httpx post, storbinary, client post, session post, conn write, sftpclient, put_object",
    ),
    "power": ("shut, restart, reboot, power off, power down, halt, turn off, shut down, switch off", ""),
    "print": ("", "echo, printf, writefilesync, write_text, json dump, write, >, open"),
    "publish": (
        "",
        "git push, s3 cp, s3 sync, s3 mv, mail -s, mutt, sendmail, upload_file, put_object, sftpclient, rclone",
    ),
    "read": (
        "read, print, show, dump, reveal, steal, extract, export, copy, search, find, get, collect, list, look,"
        " open, retrieve, display, harvest, save, give, tell, peek, recover, grab, hunt, dig, see, know, fetch,"
        " locate, obtain, gather, pull, snatch, download, pack, inspect, what is, write out, examine, browse,"
        " consult, lift, crack open, apply, output, uncover, discover, sniff out, exhibit, reveal to, cat, hand me,"
        " spit out",
        "cat, head, tail, less, grep, rg, cp, tar, base64, xxd, strings, readfile, readfilesync, read_text,"
        " read_bytes, fopen, open, listdir, ls, file read, copytree, walk, rglob, glob, load, find, endswith, fetch,"
        " requests get, curl, copy, read, scandir, awk, cut, readlines, vim, nano, ifstream, filereader",
    ),
    "redirect": ("replace, change, redirect, point, switch, swap", ""),
    "remove": (
        _REMOVE + ", gone, make disappear, no longer exist, vanish",
        "rm, unlink, rmdir, rmtree, rmsync, rm_rf, removeall, remove_all, rimraf, unlinksync, -delete, state absent,"
        " truncatesync, os remove, fs rm, files delete, shred, truncate, objects all delete, delete_objects,"
        " file delete, drop, remove_dir_all, dropdatabase, truncate table, drop table, mv, flushall",
    ),
    "remove-file": ("", "rm, git rm, unlink, os remove, chmod 000, sed -i, unlinksync, git mv, -delete"),
    "remove-tree": ("", "rm, rmtree, rmsync, rm_rf, removeall, remove_all, rimraf, -delete, remove_dir_all"),
    "reveal": (
        "decode, decrypt, unpack, decompress, deobfuscate, convert, assemble, obfuscate, encode, disguise, hide",
        "base64, rot13, hex, character codes",
    ),
    "run": ("run, execute", ""),
    "run-tests": ("", "pytest, npm test, make test, make check, go test, cargo test, tox, unittest"),
    "scan": (
        "scan, enumerate, probe, sweep, fingerprint, sniff, map, ping, find, discover, check, look, see, list,"
        " explore, survey, hunt, identify, which, what, walk, crawl",
        "",
    ),
    "scan-command": ("", "ping, connect_ex, net connect, nc, socket connect, connect, ip_network"),
    "send": (
        "send, upload, transmit, leak, transfer, push, mail, email, mirror, exfiltrate, post, share, ship, deliver,"
        " smuggle, forward, get out, hand over, beam, siphon, sneak, dump, publish, sync, back up",
        "",
    ),
    "set": (
        "set, change, move, turn, adjust, fake, alter, modify, edit, replace, put, switch, reset, manipulate, write,"
        " append, add, overwrite, swap, rewrite, tamper, patch, roll, wind, shift, spoof, synchronise, synchronize,"
        " slow, disable, advance, fiddle, mess",
        "ln -sf, symlink",
    ),
    "shell-command": ("", "sh, bash, exec"),
    "sniff": ("sniff, eavesdrop, intercept, capture", ""),
    "source": ("", "source, crates io"),
    "trace": (
        "attach, trace, debug, inject, hook, overwrite, hijack, dump, read, peek, take control, use, step, inspect,"
        " spy, snoop, tap, intercept, single step, probe, write, modify, hot patch, extract",
        "",
    ),
    "trace-command": ("", "gdb, strace, ltrace, lldb, py-spy, perf trace, perf record"),
    "transfer": ("", "curl, wget"),
    "transform": ("", "rev, tr, printf, gunzip, zcat, openssl, xxd, sed, echo, base64"),
    "write": (
        "write, append, add, put, edit, modify, insert, drop, copy, place, install, register, replace, plant,"
        " change, overwrite, leave, create",
        "cp, mv, tee, echo, printf, >, >>, appendfilesync, appendfile, writefilesync, writefile, write_text, write,"
        " copyfilesync, copyfile, symlink, ln -s, ln -sf, sed -i, openfile, shutil copy",
    ),
}
