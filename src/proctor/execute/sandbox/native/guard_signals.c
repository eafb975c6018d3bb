/* The rule about signals: every process inside belongs to whoever runs there, but pid 1. */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process behind a pidfd of the stopped process, as seen from here; 0 when that cannot be told. */
static long long behind_pidfd(const struct stopped *stopped)
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

static int is_there(long long pid)
{
    char name[32];
    snprintf(name, sizeof name, "%lld", pid);
    return faccessat(plan.proc, name, F_OK, 0) == 0;
}

int decide_signal(const struct stopped *stopped)
{
    const struct call *call = stopped->call;
    int number = stopped->arguments[(int)call->extra];
    long long target = call->rule == SIGNAL ? (int)stopped->arguments[0] : 0;
    char detail[64];
    if (call->rule == SIGNAL_BY_PIDFD)
        target = behind_pidfd(stopped) == plan.init ? 1 : 0;
    if (!number || target == 0 || target < -1)
        return 0;
    snprintf(detail, sizeof detail, "signal %d to %lld", number, target);
    if (target == 1) {
        tell_attempt(stopped, "signal", detail, "", "", 0, call->error);
        return call->error;
    }
    if (target == -1)
        tell_attempt(stopped, "signal", detail, "", "", 1, 0);
    else if (!is_there(target))
        tell_attempt(stopped, "signal", detail, "", "", 0, ESRCH);
    return 0;
}
