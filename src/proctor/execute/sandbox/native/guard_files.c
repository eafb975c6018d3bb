/* The rules about files.
 *
 * A change below a writable place is let through without a word, and so is what only looks like one. Any other is told.
 * Where the mount is read-only the kernel gives the answer, so that programs see the errors they know; where the mount
 * would allow what the plan does not, the guard refuses.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct place place, second;

/* Files of /proc that say what a process has in memory or in its hands. */
static int is_private_part(const char *part)
{
    const char *names[] = {"/mem", "/environ", "/root", "/cwd", "/fd", "/maps", "/smaps", "/map_files", "/auxv",
                           "/stack", "/syscall", "/pagemap", "/task", "/ns", "/exe", "/clear_refs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_within(part, names[i]))
            return 1;
    return 0;
}

/* 1 when the place is in /proc and all has been said about it. */
static int look_at_proc(const struct stopped *stopped, const struct place *where, int writing)
{
    long long pid;
    const char *part = proc_part(where->real, &pid);
    if (!part)
        return 0;
    struct process *process = who_is(stopped->thread);
    if (process && process->inside == pid)
        return 1;
    if (writing || is_private_part(part))
        tell_attempt(stopped, "proc-access", writing ? "for writing" : "for reading", where->real, "", pid != 1, 0);
    return 1;
}

/* Names that Python makes up for a moment while it writes byte code would never repeat. */
static void shorten_byte_code(char *path)
{
    char *end = strstr(path, ".pyc.");
    if (end && strstr(path, "/__pycache__/"))
        end[4] = 0;
}

static int outside(const struct stopped *stopped, struct place *where, const char *detail)
{
    int error = where->read_only || where->missing_parent || *where->real != '/' ? 0 : EACCES;
    shorten_byte_code(where->real);
    if (strstr(where->real, "/__pycache__"))
        detail = "byte code";
    else if (!*detail && strcmp(where->claimed, where->real))
        detail = where->claimed;
    tell_attempt(stopped, "write-outside", detail, where->real, "", 0, error);
    return error;
}

/* The answer about a change of what `where` names. */
static int change(const struct stopped *stopped, struct place *where, const char *detail)
{
    if (holding && plan.held && is_within(where->real, plan.held)) {
        static struct record record;
        struct process *process = who_is(stopped->thread);
        begin(&record, "held");
        add_number(&record, process ? process->inside : 0);
        add_word(&record, stopped->call->name);
        add_word(&record, where->real);
        tell_counted(&record);
        hurry();
        return keep_held(stopped, 0);
    }
    if (is_writable(where->real))
        return 0;
    if (look_at_proc(stopped, where, 1))
        return 0;
    return outside(stopped, where, detail);
}

int decide_made(const struct stopped *stopped, struct place *where) { return where->mode ? 0 : change(stopped, where, ""); }

/* Records that the place is opened for reading, where that is wanted. */
static void tell_read(const struct stopped *stopped)
{
    static struct record record;
    struct process *process = who_is(stopped->thread);
    begin(&record, "read");
    add_number(&record, process ? process->inside : 0);
    add_word(&record, place.real);
    tell_once(&record);
}

static int is_read_told(void)
{
    if (plan.all_reads)
        return S_ISREG(place.mode) || S_ISDIR(place.mode);
    return plan.reads && S_ISREG(place.mode) && plan.held && is_within(place.real, plan.held);
}

/* Records that the place is one of the secrets. */
static void tell_secret(const struct stopped *stopped)
{
    for (int i = 0; i < plan.secret_count; i++)
        if (same_file(place.file, plan.secrets[i].file))
            tell_attempt(stopped, "read-canary", "opened", plan.secrets[i].path, "", 1, 0);
}

static int decide_read(const struct stopped *stopped, int closely)
{
    int special = closely && look_at_proc(stopped, &place, 0);
    if (is_read_told() && (!special || plan.all_reads))
        tell_read(stopped);
    return 0;
}

static int read_how(const struct stopped *stopped, struct open_how *how)
{
    int extra = stopped->call->extra;
    *how = (struct open_how){.flags = extra >= 0 ? stopped->arguments[extra] : O_CREAT | O_WRONLY | O_TRUNC};
    return extra != -1 ? 0 : read_memory(stopped->thread, stopped->arguments[2], how, sizeof *how);
}

static int decide_open(const struct stopped *stopped)
{
    struct open_how wanted;
    if (read_how(stopped, &wanted) < 0)
        return refuse_unreadable(stopped, "flags", EFAULT);
    uint64_t flags = wanted.flags;
    int writing = !(flags & O_PATH) && flags & OPENS_FOR_WRITING;
    int follow = !(flags & O_NOFOLLOW) && !(flags & O_CREAT && flags & O_EXCL) ? FOLLOW : 0;
    int reads_too = (flags & O_ACCMODE) != O_WRONLY && !(flags & O_TRUNC);
    int how = follow | (!writing ? READING : reads_too ? READS_TOO : 0) | (wanted.resolve & RESOLVE_IN_ROOT ? AS_ROOT : 0);
    int error = locate(stopped, stopped->call->directory, stopped->call->path, how, &place);
    if (error)
        return error;
    if (reads_too && !(flags & O_PATH))
        tell_secret(stopped);
    if (!writing)
        return decide_read(stopped, plan.reads || plan.all_reads);
    if (place.mode && !S_ISREG(place.mode) && !S_ISDIR(place.mode) && !S_ISBLK(place.mode))
        return 0; /* a device such as /dev/null, a pipe, a socket: nothing is stored */
    if (place.mode && !(flags & (O_ACCMODE | O_TRUNC)))
        return decide_read(stopped, 1); /* would be made, but is there: only read */
    if (reads_too && is_read_told() && is_writable(place.real))
        tell_read(stopped);
    return change(stopped, &place, "");
}

static int decide_owner(const struct stopped *stopped)
{
    uint32_t uid = stopped->arguments[(int)stopped->call->extra], gid = stopped->arguments[stopped->call->extra + 1];
    char detail[64];
    snprintf(detail, sizeof detail, "owner %d:%d", (int)uid, (int)gid);
    if ((uid != UINT32_MAX && uid != plan.inside) || (gid != UINT32_MAX && gid != plan.inside)) {
        tell_attempt(stopped, "privilege", detail, place.real, "", 0, EPERM);
        return EPERM;
    }
    return change(stopped, &place, detail);
}

static int decide_mode(const struct stopped *stopped)
{
    unsigned mode = stopped->arguments[(int)stopped->call->extra];
    char detail[64];
    snprintf(detail, sizeof detail, "mode %04o", mode & 07777);
    if (stopped->call->rule == MAKE_NODE) {
        if (S_ISCHR(mode) || S_ISBLK(mode)) {
            tell_attempt(stopped, "syscall-device", S_ISBLK(mode) ? "block device" : "character device", place.real, "",
                         0, EPERM);
            return EPERM;
        }
        return change(stopped, &place, "");
    }
    if (mode & S_ISUID && is_writable(place.real))
        tell_attempt(stopped, "privilege", detail, place.real, "", 1, 0);
    return change(stopped, &place, detail);
}

/* Capabilities of a program are an attribute of its file. */
static int decide_attribute(const struct stopped *stopped)
{
    char name[256];
    ssize_t size = read_text(stopped->thread, stopped->arguments[(int)stopped->call->extra], name, sizeof name);
    if (size < 0)
        return refuse_unreadable(stopped, "attribute", EFAULT);
    name[size < (ssize_t)sizeof name ? size : (ssize_t)sizeof name - 1] = 0;
    if (strcmp(name, "security.capability") && strncmp(name, "trusted.", 8))
        return change(stopped, &place, "");
    tell_attempt(stopped, "privilege", name, place.real, "", 0, EPERM);
    return EPERM;
}

/* A hard link gives a second name to what the first path names. */
static int decide_link(const struct stopped *stopped)
{
    int flags = stopped->call->at_flags; /* link has none */
    int how = flags && stopped->arguments[flags] & AT_SYMLINK_FOLLOW ? FOLLOW : 0;
    int error = locate(stopped, stopped->call->directory, stopped->call->path, how, &place);
    if (!error && !is_writable(place.real) && *place.real == '/')
        return outside(stopped, &place, "hard link");
    return error;
}

int decide_file(const struct stopped *stopped)
{
    const struct call *call = stopped->call;
    if (call->rule == OPEN)
        return decide_open(stopped);
    int on_link = call->options & ON_LINK ||
                  (call->options & FLAG_LINK && stopped->arguments[(int)call->at_flags] & AT_SYMLINK_NOFOLLOW);
    int how = on_link ? 0 : FOLLOW;
    if (call->rule == RENAME || call->rule == LINK) {
        int result = locate(stopped, call->directory2, call->path2, 0, &second);
        if (!result)
            result = change(stopped, &second, "");
        if (result)
            return result;
        if (call->rule == LINK)
            return decide_link(stopped);
        how = 0;
    }
    int error = locate(stopped, call->directory, call->path, how, &place);
    if (error)
        return error;
    if (call->options & MAKES && place.mode)
        return 0; /* there is something already, and the call will fail for that */
    if (place.mode && !S_ISREG(place.mode) && !S_ISDIR(place.mode) && !S_ISLNK(place.mode) && *place.real != '/')
        return 0; /* a pipe or a socket by its descriptor */
    if (call->rule == CHANGE_ATTRIBUTE)
        return decide_attribute(stopped);
    if (call->rule == CHANGE_OWNER)
        return decide_owner(stopped);
    if (call->rule == CHANGE_MODE || call->rule == MAKE_NODE)
        return decide_mode(stopped);
    return change(stopped, &place, "");
}
