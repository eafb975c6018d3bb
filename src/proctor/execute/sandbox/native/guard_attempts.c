/* The rules about calls that are never allowed, about privileges and about programs that start; and how an attempt is
 * told.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_LINE 2048

void tell_attempt(const struct stopped *stopped, const char *code, const char *detail, const char *path,
                  const char *address, int allowed, int error)
{
    static struct record record;
    char words[COMMAND_LINE];
    struct process *process = who_is(stopped->thread);
    begin(&record, "attempt");
    add_word(&record, code);
    add_word(&record, stopped->call->name);
    add_number(&record, process ? process->inside : 0);
    add_word(&record, detail);
    add_word(&record, path);
    add_word(&record, address);
    add_number(&record, allowed);
    add_number(&record, error);
    if (process)
        add_words(&record, words, command_line(process->outside, words, sizeof words));
    tell_counted(&record);
    hurry();
}

static int refuse_call(const struct stopped *stopped, const char *detail)
{
    char code[32];
    snprintf(code, sizeof code, "syscall-%s", stopped->call->kind);
    tell_attempt(stopped, code, detail, "", "", 0, stopped->call->error);
    return stopped->call->error;
}

static int decide_clone3(const struct stopped *stopped)
{
    uint64_t flags = 0;
    if (read_memory(stopped->thread, stopped->arguments[0], &flags, sizeof flags) == sizeof flags &&
        flags & (NEW_NAMESPACES | 0x80 /* time */))
        return refuse_call(stopped, "");
    return stopped->call->error;
}

/* The error of a program that cannot start, such as most of those that a search along PATH tries; 0: it may start. The
 * guard gives the error itself, so that nobody can show it an absent program and the kernel a real one. */
static int cannot_start(const struct place *place)
{
    if (place->by_descriptor || is_within(place->real, "/proc") || is_within(place->real, "/dev"))
        return 0;
    if (place->absent)
        return ENOENT;
    return place->mode && (!S_ISREG(place->mode) || !(place->mode & 0111)) ? EACCES : 0;
}

static void tell_program(const struct stopped *stopped, const struct place *place, struct process *process)
{
    static struct record record;
    static char words[MAX_ARGUMENT_BYTES];
    char link[64], directory[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)stopped->thread);
    ssize_t size = readlink(link, directory, sizeof directory - 1);
    directory[size > 0 ? size : 0] = 0;
    find_origin(process);
    begin(&record, "exec");
    add_number(&record, process->inside);
    add_number(&record, inside_of(process->parent_outside));
    add_number(&record, process->origin);
    add_word(&record, place->real);
    add_word(&record, directory);
    add_number(&record, 1);
    add_words(&record, words, read_arguments(stopped->thread, stopped->arguments[(int)stopped->call->extra], words));
    tell(&record);
    follow_program(process);
}

static int decide_execute(const struct stopped *stopped)
{
    static struct place place;
    static long long programs;
    if (parked && programs >= plan.programs)
        return ERESTARTNOINTR; /* it would be held, and is told when it is */
    if (programs > plan.programs)
        return keep_held(stopped, UNTOLD);
    if (locate(stopped, stopped->call->directory, stopped->call->path, FOLLOW | CLOSELY, &place) < 0)
        return 0;
    int error = cannot_start(&place);
    if (error)
        return error;
    struct process *process = who_is(stopped->thread);
    if (!process)
        return 0;
    tell_program(stopped, &place, process);
    if (++programs <= plan.programs)
        return 0;
    hurry();
    return keep_held(stopped, programs);
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
        uint32_t data[3] = {0};
        read_memory(stopped->thread, stopped->arguments[1], data, sizeof data);
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
    switch (stopped->call->rule) {
    case REFUSE:
    case CLONE:
    case IOCTL:
        return (uint32_t)stopped->arguments[1] == TIOCSPTLCK ? decide_signal(stopped) : refuse_call(stopped, "");
    case PRCTL:
        return (uint32_t)stopped->arguments[0] == PR_SET_PDEATHSIG ? decide_signal(stopped) : refuse_call(stopped, "");
    case CLONE3:
        return decide_clone3(stopped);
    case EXECUTE:
        return decide_execute(stopped);
    case BEGIN:
        program_began(stopped->thread);
        return 0;
    case SOCKET:
    case CONNECT:
    case SEND:
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
    case ALLOCATE:
    case ALLOCATE_MUCH:
        return decide_allocate(stopped);
    default:
        return decide_file(stopped);
    }
}
