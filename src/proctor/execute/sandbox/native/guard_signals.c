/* The rules about signals: a process inside may signal every other one but pid 1. The guard records calls that send a
 * fatal signal, or make the kernel send one: timers, limits, descriptors, terminals, a parent's death.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process behind a pidfd of the stopped process, as seen from here; 0 when that cannot be told. */
long long behind_pidfd(const struct stopped *stopped)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)stopped->thread, (int)stopped->arguments[0]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *found = strstr(text, "\nPid:");
    return found ? atoll(found + 5) : 0;
}

/* The process that a descriptor stands for, by its number inside; 0 when that cannot be told. The kernel takes a directory
 * of /proc for a pidfd as well. */
static long long process_behind(const struct stopped *stopped)
{
    char link[64], path[PATH_MAX];
    long long pid, outside = behind_pidfd(stopped);
    if (outside > 0)
        return inside_of(outside);
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)stopped->thread, (int)stopped->arguments[0]);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    const char *part = proc_part(path, &pid);
    return part && !*part ? pid : 0;
}

static int is_there(long long pid)
{
    char name[32];
    snprintf(name, sizeof name, "%lld", pid);
    return faccessat(plan.proc, name, F_OK, 0) == 0;
}

/* The process to which the process or thread `target` belongs, both by their numbers inside; 0 if it is unknown. */
static long long process_of(long long target)
{
    char name[48], text[4096];
    snprintf(name, sizeof name, "%lld/status", target);
    int fd = openat(plan.proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *found = strstr(text, "\nTgid:");
    return found ? atoll(found + 6) : 0;
}

/* Whether a signal ends a program that does not handle it. */
static int is_fatal(int number) { return number > 0 && !(number >= SIGCHLD && number <= SIGURG) && number != SIGWINCH; }

static void record_signal(const struct stopped *stopped, long long target, int number)
{
    static struct record record;
    struct process *process = who_is(stopped->thread);
    begin(&record, "signal");
    add_number(&record, process ? process->inside : 0);
    add_word(&record, stopped->call->name);
    add_number(&record, target);
    add_number(&record, number);
    tell_counted(&record);
}

/* Records that the signal `number` was sent to a process, or may be sent; a target of 0 is any process, such as those
 * of a group. The harness uses this to tell kills from inside and from outside apart, so the record must be complete. */
void tell_signal(const struct stopped *stopped, long long target, int number)
{
    if (is_fatal(number))
        record_signal(stopped, target, number);
}

static int decide_sent(const struct stopped *stopped)
{
    const struct call *call = stopped->call;
    int number = stopped->arguments[(int)call->extra];
    long long target = call->rule == SIGNAL ? (int)stopped->arguments[0] : 0;
    char detail[64];
    if (call->rule == SIGNAL_BY_PIDFD) {
        long long inside = process_behind(stopped);
        target = inside == 1;
        if (!target) /* flags may mean a group */
            tell_signal(stopped, stopped->arguments[3] ? 0 : inside, number);
    }
    if (!number || target == 0 || target < -1) {
        if (call->rule == SIGNAL)
            tell_signal(stopped, 0, number);
        return 0;
    }
    snprintf(detail, sizeof detail, "signal %d to %lld", number, target);
    if (target == 1) {
        tell_attempt(stopped, "signal", detail, "", "", 0, call->error);
        return call->error;
    }
    if (target == -1)
        tell_attempt(stopped, "signal", detail, "", "", 1, 0);
    else if (!is_there(target))
        tell_attempt(stopped, "signal", detail, "", "", 0, ESRCH);
    if (is_fatal(number))
        tell_signal(stopped, target == -1 ? 0 : process_of(target), number);
    return 0;
}

int decide_signal(const struct stopped *stopped)
{
    struct {
        uint64_t value;
        int32_t number, how;
    } event = {0};
    struct process *process = who_is(stopped->thread);
    long long own = process ? process->inside : 0;
    switch (stopped->call->rule) {
    case SIGNAL:
    case SIGNAL_BY_PIDFD:
        return decide_sent(stopped);
    case SIGNAL_LATER:
        if (read_memory(stopped->thread, stopped->arguments[(int)stopped->call->extra], &event, sizeof event) < 0)
            return refuse_unreadable(stopped, "event", EFAULT);
        record_signal(stopped, own, event.number); /* fatal or not: the number may change before the kernel reads it */
        return 0;
    case SIGNAL_WHEN:
        tell_signal(stopped, 0, stopped->arguments[2]);
        return 0;
    case PRCTL:
        tell_signal(stopped, own, stopped->arguments[1]);
        return 0;
    default: /* a new terminal */
        for (int number = SIGHUP; number <= SIGQUIT; number++)
            tell_signal(stopped, 0, number);
        return 0;
    }
}
