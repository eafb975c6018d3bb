/* Answers, and calls that are held until the harness lets them go.
 *
 * A held call cannot be frozen: its thread waits for an answer and for nothing else. So while the sandbox freezes, held
 * calls are answered with "start again"; their threads have the freezer's signal pending, stop there, and after the thaw
 * the kernel repeats the call, which is then held anew.
 */
#include "guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#ifndef ERESTARTNOINTR
#define ERESTARTNOINTR 513
#endif
#define MAX_HELD 1024

int holding, parked;
static uint64_t held[MAX_HELD];
static int held_count;

int answer(uint64_t id, int error)
{
    struct seccomp_notif_resp response = {
        .id = id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    return ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Forgets calls whose threads are gone. */
static void forget_gone(void)
{
    int kept = 0;
    for (int i = 0; i < held_count; i++)
        if (ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &held[i]) == 0)
            held[kept++] = held[i];
    held_count = kept;
}

void keep_held(uint64_t id)
{
    if (parked) {
        answer(id, ERESTARTNOINTR);
        return;
    }
    if (held_count == MAX_HELD)
        forget_gone();
    if (held_count < MAX_HELD)
        held[held_count++] = id;
    else
        answer(id, EAGAIN);
}

static void answer_all(int error)
{
    for (int i = 0; i < held_count; i++)
        answer(held[i], error);
    held_count = 0;
}

void let_go(void)
{
    holding = 0;
    answer_all(0);
}

void park(void)
{
    parked = 1;
    answer_all(ERESTARTNOINTR);
}
