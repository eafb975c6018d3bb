/* The rules about calls that are never allowed and about privileges; and how an attempt is recorded. */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <unistd.h>

#define COMMAND_LINE 2048

void begin_attempt(struct record *record, const struct stopped *stopped, const char *code, const char *detail,
                   const char *path, const char *address, int allowed, int error)
{
    struct process *process = who_is(stopped->thread);
    begin(record, "attempt");
    add_word(record, code);
    add_word(record, stopped->call->name);
    add_number(record, process ? process->inside : 0);
    add_word(record, detail);
    add_word(record, path);
    add_word(record, address);
    add_number(record, allowed);
    add_number(record, error);
}

void tell_attempt(const struct stopped *stopped, const char *code, const char *detail, const char *path,
                  const char *address, int allowed, int error)
{
    static struct record record;
    char words[COMMAND_LINE];
    struct process *process = who_is(stopped->thread);
    begin_attempt(&record, stopped, code, detail, path, address, allowed, error);
    if (process)
        add_words(&record, words, command_line(process->outside, words, sizeof words));
    tell_counted(&record);
    hurry();
}

int refuse_call(const struct stopped *stopped, const char *detail)
{
    char code[32];
    snprintf(code, sizeof code, "syscall-%s", stopped->call->kind);
    tell_attempt(stopped, code, detail, "", "", 0, stopped->call->error);
    return stopped->call->error;
}

/* What a call points at cannot be read here, though the kernel may be able to: it is not known what the call does. */
int refuse_unreadable(const struct stopped *stopped, const char *what, int error)
{
    if (still_waits(stopped->id)) /* of a thread that was killed in this moment nothing can be read either */
        tell_attempt(stopped, "syscall-unreadable", what, "", "", 0, error);
    return error;
}

static int decide_clone3(const struct stopped *stopped)
{
    uint64_t arguments[CLONE_ARGS_SIZE_VER0 / sizeof(uint64_t)];
    if (read_memory(stopped->thread, stopped->arguments[0], arguments, sizeof arguments) < 0)
        return refuse_unreadable(stopped, "flags", stopped->call->error);
    return arguments[0] & (NEW_NAMESPACES | 0x80 /* time */) ? refuse_call(stopped, "") : stopped->call->error;
}

/* A user or group that is not the process's own; -1 leaves one as it is. */
static int is_foreign(uint64_t id) { return (uint32_t)id != UINT32_MAX && (long long)(uint32_t)id != plan.inside; }

int decide_privilege(const struct stopped *stopped)
{
    const struct call *call = stopped->call;
    char detail[96] = "";
    int foreign = 0;
    if (call->rule == IDENTITY) {
        for (int i = 0; i < call->extra; i++) {
            foreign |= is_foreign(stopped->arguments[i]);
            size_t used = strlen(detail);
            snprintf(detail + used, sizeof detail - used, "%s%d", i ? " " : "", (int)stopped->arguments[i]);
        }
        if (!call->error && (int)stopped->arguments[0] == -1)
            return 0; /* asks what the file system id is */
    } else if (call->rule == CAPABILITIES) {
        uint32_t data[3];
        if (read_memory(stopped->thread, stopped->arguments[1], data, sizeof data) < 0)
            return refuse_unreadable(stopped, "capabilities", EFAULT);
        foreign = data[0] || data[1];
        snprintf(detail, sizeof detail, "effective %08x permitted %08x", data[0], data[1]);
    } else {
        foreign = 1;
        snprintf(detail, sizeof detail, "%d groups", (int)stopped->arguments[0]);
    }
    if (!foreign)
        return 0;
    tell_attempt(stopped, "privilege", detail, "", "", 0, call->error);
    return call->error;
}

static int decide_prctl(const struct stopped *stopped)
{
    int wanted = stopped->arguments[0];
    if (wanted == PR_SET_PDEATHSIG)
        return decide_signal(stopped);
    if (wanted == PR_CAP_AMBIENT && (int)stopped->arguments[1] != PR_CAP_AMBIENT_RAISE)
        return 0;
    if (wanted == PR_CAP_AMBIENT || wanted == PR_SET_SECUREBITS) {
        tell_attempt(stopped, "privilege", wanted == PR_CAP_AMBIENT ? "ambient capability" : "secure bits", "", "", 0,
                     EPERM);
        return EPERM;
    }
    return refuse_call(stopped, "");
}

/* The kernel checks whether the process may be looked into; one's own always is, and allocators do that. */
static int decide_by_pidfd(const struct stopped *stopped)
{
    struct process *process = who_is(stopped->thread);
    int own = (int)stopped->arguments[0] < 0 || (process && behind_pidfd(stopped) == process->outside);
    return own ? 0 : refuse_call(stopped, "");
}

static int decide_adjust(const struct stopped *stopped)
{
    struct timex wanted;
    if (read_memory(stopped->thread, stopped->arguments[(int)stopped->call->extra], &wanted, sizeof wanted) < 0)
        return refuse_unreadable(stopped, "modes", EFAULT);
    return wanted.modes ? refuse_call(stopped, "") : 0;
}

static int decide_allocate(const struct stopped *stopped)
{
    int first = stopped->call->extra;
    uint64_t offset = stopped->call->rule == ALLOCATE ? stopped->arguments[first++] : 0, size = stopped->arguments[first];
    char detail[64];
    if (plan.file_bytes < 0 || (offset <= (uint64_t)plan.file_bytes && size <= (uint64_t)plan.file_bytes - offset))
        return 0;
    snprintf(detail, sizeof detail, "%llu bytes from %llu", (unsigned long long)size, (unsigned long long)offset);
    tell_attempt(stopped, "syscall-space", detail, "", "", 0, EFBIG);
    return EFBIG;
}

int decide(const struct stopped *stopped)
{
    if (stopped->thread == plan.init)
        return 0; /* pid 1 does what the harness says */
    begin_paths();
    look_at_claim(find_followed(stopped->thread), stopped->thread, stopped);
    switch (stopped->call->rule) {
    case REFUSE:
    case CLONE:
        return refuse_call(stopped, "");
    case IOCTL:
        return (uint32_t)stopped->arguments[1] == TIOCSPTLCK ? decide_signal(stopped) : refuse_call(stopped, "");
    case PRCTL:
        return decide_prctl(stopped);
    case PRIORITY:
    case FILTER:
        return refuse_call(stopped, stopped->call->rule == FILTER ? "a listener" : "the priority of pid 1");
    case LIMIT:
    case LIMIT_OWN:
        return decide_limit(stopped);
    case SCHEDULE:
        return decide_schedule(stopped);
    case BY_PIDFD:
        return decide_by_pidfd(stopped);
    case CLONE3:
        return decide_clone3(stopped);
    case EXECUTE:
        return decide_execute(stopped);
    case BEGIN:
        program_began(stopped->thread);
        return 0;
    case LAYOUT:
        if ((uint32_t)stopped->arguments[0] != UINT32_MAX) /* which only asks */
            layout_is_fixed();
        return 0;
    case SOCKET:
    case CONNECT:
    case SEND:
    case SEND_MESSAGE:
    case SEND_MANY:
    case BIND:
        return decide_network(stopped);
    case SIGNAL:
    case SIGNAL_BY_PIDFD:
    case SIGNAL_LATER:
    case SIGNAL_WHEN:
        return decide_signal(stopped);
    case IDENTITY:
    case GROUPS:
    case CAPABILITIES:
        return decide_privilege(stopped);
    case ADJUST:
        return decide_adjust(stopped);
    case ALLOCATE:
    case ALLOCATE_MUCH:
        return decide_allocate(stopped);
    default:
        return decide_file(stopped);
    }
}
