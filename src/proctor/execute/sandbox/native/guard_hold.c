/* Answers, and calls that are held until the harness lets them go: changes of the workspace, and programs beyond the
 * number that the harness has allowed so far. Of those one is told; the others are told when it has gone on.
 *
 * A held call cannot be frozen: its thread waits for an answer and for nothing else. So while the sandbox freezes, held
 * calls are answered with "start again"; their threads have the freezer's signal pending, stop there, and after the thaw
 * the kernel repeats the call, which is then held anew. A program that starts again like that is told again.
 */
#include "guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#define MAX_HELD 1024

int holding, parked;
static struct held {
    struct stopped stopped;
    uint64_t arguments[6];
    long long program; /* the number of a program that was told; UNTOLD; 0: a change */
} held[MAX_HELD];
static int held_count;

int answer(uint64_t id, int error)
{
    struct seccomp_notif_resp response = {
        .id = id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    return ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

int still_waits(uint64_t id) { return ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 || errno != ENOENT; }

static int is_there(const struct held *one)
{
    return ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &one->stopped.id) == 0;
}

/* Forgets calls whose threads are gone. */
static void forget_gone(void)
{
    int kept = 0;
    for (int i = 0; i < held_count; i++)
        if (is_there(&held[i]))
            held[kept++] = held[i];
    held_count = kept;
}

int keep_held(const struct stopped *stopped, long long program)
{
    if (parked)
        return ERESTARTNOINTR;
    if (held_count == MAX_HELD)
        forget_gone();
    if (held_count == MAX_HELD)
        return EAGAIN;
    struct held *one = &held[held_count++];
    *one = (struct held){.stopped = *stopped, .program = program};
    memcpy(one->arguments, stopped->arguments, sizeof one->arguments);
    return HELD;
}

/* Answers the changes, or the programs up to a number. */
static void release(long long first, long long last)
{
    int kept = 0;
    for (int i = 0; i < held_count; i++)
        if (held[i].program >= first && held[i].program <= last)
            answer(held[i].stopped.id, 0);
        else
            held[kept++] = held[i];
    held_count = kept;
}

/* Whether more is to be decided about a call than what it was held for: of two paths the first was not looked at. */
static int is_half_decided(const struct held *one)
{
    return !one->program && (one->stopped.call->rule == RENAME || one->stopped.call->rule == LINK);
}

static int is_untold(const struct held *one) { return one->program == UNTOLD; }

/* Looks once more at some of the calls that are held. */
static void decide_again(int (*wanted)(const struct held *one))
{
    static struct held all[MAX_HELD];
    int count = held_count;
    memcpy(all, held, count * sizeof *all);
    held_count = 0;
    for (int i = 0; i < count; i++) {
        all[i].stopped.arguments = all[i].arguments;
        if (!wanted(&all[i]))
            held[held_count++] = all[i];
        else if (is_there(&all[i])) {
            int result = decide(&all[i].stopped);
            if (result != HELD)
                answer(all[i].stopped.id, result);
        }
    }
}

void let_go(void)
{
    holding = 0;
    decide_again(is_half_decided);
    release(0, 0);
}

void allow_programs(long long programs)
{
    plan.programs = programs;
    release(1, programs);
    decide_again(is_untold);  /* those that were not told, because one that was told waited */
}

void park(void)
{
    parked = 1;
    for (int i = 0; i < held_count; i++)
        answer(held[i].stopped.id, ERESTARTNOINTR);
    held_count = 0;
}
