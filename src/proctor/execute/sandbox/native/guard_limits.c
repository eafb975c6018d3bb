/* The rules about limits and scheduling: a limit cannot be raised, nor a real-time policy be had, and pid 1 is not to be
 * touched.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DEADLINE 6 /* SCHED_DEADLINE, which older headers lack */
#define HARD_COLUMN 47 /* in /proc/PID/limits */

static int refuse_privilege(const struct stopped *stopped, const char *detail)
{
    tell_attempt(stopped, "privilege", detail, "", "", 0, EPERM);
    return EPERM;
}

/* Limits that honest programs try to raise, and go on without: `ulimit -c unlimited` at the start of a script. */
static int is_often_raised(int resource)
{
    return resource == RLIMIT_CORE || resource == RLIMIT_NOFILE || resource == RLIMIT_MEMLOCK || resource == RLIMIT_STACK;
}

/* The hard limit of a process by its number inside, as its list in /proc has it: a line for each, the numbers in
 * columns. -1: it has none, or is not there. */
static int limit_of(long long pid, int resource, struct rlimit *limit)
{
    char name[48], text[4096], *line = text;
    snprintf(name, sizeof name, "%lld/limits", pid);
    int fd = openat(plan.proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    for (int i = 0; line && i <= resource; i++)
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    if (!line || strlen(line) <= HARD_COLUMN)
        return -1;
    int number = line[HARD_COLUMN] >= '0' && line[HARD_COLUMN] <= '9';
    limit->rlim_max = number ? strtoull(line + HARD_COLUMN, NULL, 10) : RLIM_INFINITY;
    return 0;
}

int decide_limit(const struct stopped *stopped)
{
    const struct call *call = stopped->call;
    long long target = call->rule == LIMIT ? (int)stopped->arguments[0] : 0;
    int resource = stopped->arguments[(int)call->path];
    struct rlimit wanted, now;
    char detail[64];
    if (target == 1)
        return refuse_call(stopped, "a limit of pid 1");
    if (read_memory(stopped->thread, stopped->arguments[(int)call->extra], &wanted, sizeof wanted) < 0)
        return refuse_unreadable(stopped, "limit", EFAULT);
    int known = target ? limit_of(target, resource, &now) : prlimit(stopped->thread, resource, NULL, &now);
    if (known == 0 && wanted.rlim_max > now.rlim_max) {
        snprintf(detail, sizeof detail, "limit %d", resource);
        if (!is_often_raised(resource))
            return refuse_privilege(stopped, detail);
        tell_attempt(stopped, "raised-limit", detail, "", "", 0, EPERM);
        return EPERM;
    }
    if (resource == RLIMIT_CPU)
        tell_signal(stopped, 0, SIGKILL); /* what the kernel sends when it is used up */
    return 0;
}

static int is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR || policy == DEADLINE; }

int decide_schedule(const struct stopped *stopped)
{
    uint32_t attributes[12]; /* the first struct sched_attr: its size, the policy and more */
    int policy = stopped->arguments[1];
    if ((int)stopped->arguments[0] == 1)
        return refuse_call(stopped, "the scheduling of pid 1");
    if (stopped->call->extra == -2) {
        if (read_memory(stopped->thread, stopped->arguments[1], attributes, sizeof attributes) < 0)
            return refuse_unreadable(stopped, "policy", EFAULT);
        policy = attributes[1];
    }
    return is_real_time(policy & ~SCHED_RESET_ON_FORK) ? refuse_privilege(stopped, "a real-time policy") : 0;
}
