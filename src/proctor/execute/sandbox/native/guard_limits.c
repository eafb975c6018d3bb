/* The rules about limits and scheduling: an own limit cannot be raised, nor a real-time policy be had, and pid 1 is not to
 * be touched.
 */
#include "guard.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#define DEADLINE 6 /* SCHED_DEADLINE, which older headers lack */

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
    struct process *process = who_is(stopped->thread);
    int own = !target || (process && process->inside == target);
    if (own && prlimit(stopped->thread, resource, NULL, &now) == 0 && wanted.rlim_max > now.rlim_max) {
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
