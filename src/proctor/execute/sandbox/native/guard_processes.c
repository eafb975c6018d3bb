/* Who is who: pids in here against pids in the sandbox, who started whom, and when it ended.
 *
 * A process that has started a program is followed by a pidfd until it ends. Its exit status is in /proc while nobody has
 * waited for it, and with the pidfd afterwards on kernels from 6.15 on; where neither answers, it stays unknown.
 *
 * Forks are not seen, so who a program comes from is looked up when it starts. A program and all its forks share what
 * was chosen at random for it: where its stack begins. A program is known by that from its first steps on, also after its
 * end. Of those that did not show it (they have no libc) the forks are found along their parents, and followed as well,
 * so that they are still known when what they come from has ended. What neither tells comes from nobody.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 1024
#define MAX_FOLLOWED 4096
#define MAX_FORKS 64 /* between a program and the one that it comes from */
#define MAX_PROGRAMS 8191
#define UNKNOWN (-1)

/* The first version of struct pidfd_info, which every later kernel takes as well. */
struct pidfd_information {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
#define GET_INFORMATION _IOWR(0xFF, 11, struct pidfd_information)
#define INFORMATION_EXIT (1ULL << 3)

static struct process *followed[BUCKETS];
static int followed_count;

static struct process *find(pid_t outside)
{
    struct process *process = followed[outside % BUCKETS];
    while (process && process->outside != outside)
        process = process->next;
    return process;
}

static ssize_t read_proc(pid_t pid, const char *name, char *into, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, into, size - 1);
    close(fd);
    if (got >= 0)
        into[got] = 0;
    return got;
}

/* The first number after `name`, or the last one of that line. */
static long long field(const char *text, const char *name, int last)
{
    const char *found = strstr(text, name);
    if (!found)
        return UNKNOWN;
    char *end = (char *)found + strlen(name);
    long long value = strtoll(end, &end, 10);
    while (last && *end == '\t')
        value = strtoll(end, &end, 10);
    return value;
}

/* The process of `thread` as /proc shows it; 0, or -1 when it is gone. */
static int look_up(pid_t thread, struct process *process)
{
    char text[4096];
    if (read_proc(thread, "status", text, sizeof text) < 0)
        return -1;
    *process = (struct process){
        .outside = field(text, "\nTgid:", 0),
        .inside = field(text, "\nNStgid:", 1),
        .parent_outside = field(text, "\nPPid:", 0),
        .handle = -1,
    };
    return 0;
}

struct process *find_followed(pid_t outside) { return find(outside); }

void each_followed(void (*action)(struct process *process))
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct process *process = followed[i]; process; process = process->next)
            action(process);
}

struct process *who_is(pid_t thread)
{
    static struct process stranger;
    struct process *process = find(thread);
    if (process)
        return process;
    if (look_up(thread, &stranger) < 0)
        return NULL;
    process = find(stranger.outside);
    if (process)
        look_at_claim(process, thread, NULL);
    return process ? process : &stranger;
}

long long inside_of(long long outside)
{
    struct process *process = find(outside), stranger;
    if (process)
        return process->inside;
    return outside <= 0 || look_up(outside, &stranger) < 0 ? 0 : stranger.inside;
}

long long thread_inside(pid_t thread)
{
    char text[4096];
    return read_proc(thread, "status", text, sizeof text) < 0 ? 0 : field(text, "\nNSpid:", 1);
}

struct process *follow(const struct process *process)
{
    struct process *copy = find(process->outside);
    if (copy || followed_count >= MAX_FOLLOWED || !(copy = malloc(sizeof *copy)))
        return copy;
    *copy = *process;
    copy->handle = syscall(SYS_pidfd_open, process->outside, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = copy};
    if (copy->handle < 0 || epoll_ctl(plan.epoll, EPOLL_CTL_ADD, copy->handle, &event) < 0) {
        if (copy->handle >= 0)
            close(copy->handle);
        free(copy);
        return NULL;
    }
    copy->next = followed[copy->outside % BUCKETS];
    followed[copy->outside % BUCKETS] = copy;
    followed_count++;
    return copy;
}

uint64_t stack_of(pid_t pid)
{
    char text[1024];
    char *at = read_proc(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    for (int i = 2; at && i < 28; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Programs by their stacks, the newest in each place. One that two processes share, as without randomness, is nobody's. */
static struct {
    uint64_t stack;
    long long inside;
} programs[MAX_PROGRAMS];

static size_t place_of(uint64_t stack) { return (stack >> 4) % MAX_PROGRAMS; }

void program_began(pid_t thread)
{
    struct process *process = who_is(thread);
    uint64_t stack = process && process->started ? process->stack : 0;
    size_t place = place_of(stack);
    if (!stack || stack == process->fork_of)
        return; /* it has not begun yet: that is still its parent's */
    int shared = programs[place].stack == stack && programs[place].inside != process->inside;
    programs[place].stack = stack;
    programs[place].inside = shared ? 0 : process->inside;
}

/* Whether `process` was forked before its ancestor started its first program: both are copies of the same one then. */
static int is_older(const struct process *process, const struct process *above)
{
    return process->fork_of && process->fork_of == above->fork_of;
}

void find_origin(struct process *process)
{
    struct process forks[MAX_FORKS], *above = NULL;
    int count = 0;
    if (find(process->outside))
        return; /* it was found when it was first seen */
    process->stack = process->fork_of = stack_of(process->outside);
    size_t place = place_of(process->fork_of);
    if (process->fork_of && programs[place].stack == process->fork_of) {
        process->origin = programs[place].inside;
        return;
    }
    for (pid_t next = process->parent_outside; next > 0 && next != plan.init; next = forks[count++].parent_outside)
        if ((above = find(next)) || count == MAX_FORKS || look_up(next, &forks[count]) < 0)
            break;
    if (above)
        process->origin = above->started && !is_older(process, above) ? above->inside : above->origin;
    while (count-- > 0) {
        forks[count].origin = process->origin;
        forks[count].stack = forks[count].fork_of = process->fork_of;
        follow(&forks[count]);
    }
}

struct process *follow_program(struct process *process)
{
    process = follow(process);
    if (process && !process->started) {
        process->started = 1;
        process->start = clock_ns(CLOCK_MONOTONIC);
    }
    return process;
}

/* As wait would give it, or UNKNOWN. */
static int exit_status(const struct process *process)
{
    char text[1024];
    if (read_proc(process->outside, "stat", text, sizeof text) > 0) {
        char *end = strrchr(text, ')'), *last = strrchr(text, ' ');
        if (end && end[1] == ' ' && end[2] == 'Z' && last)
            return atoi(last + 1);
    }
    struct pidfd_information information = {.mask = INFORMATION_EXIT};
    if (ioctl(process->handle, GET_INFORMATION, &information) == 0 && information.mask & INFORMATION_EXIT)
        return information.exit_code;
    return UNKNOWN;
}

static void tell_end(const struct process *process)
{
    static struct record record;
    int status = exit_status(process);
    begin(&record, "exit");
    add_number(&record, process->inside);
    if (status == UNKNOWN)
        add_word(&record, "");
    else
        add_number(&record, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    add_number(&record, clock_ns(CLOCK_MONOTONIC) - process->start);
    tell(&record);
}

void process_ended(struct process *process)
{
    tell_absent(process);
    forget_claim(process);
    if (process->started)
        tell_end(process);
    struct process **link = &followed[process->outside % BUCKETS];
    while (*link && *link != process)
        link = &(*link)->next;
    if (*link)
        *link = process->next;
    followed_count--;
    close(process->handle);
    free(process);
}

size_t command_line(pid_t process, char *into, size_t size)
{
    ssize_t got = read_proc(process, "cmdline", into, size);
    if (got <= 0)
        return 0;
    if (into[got - 1])
        got++; /* cut, and ended by read_proc */
    return got;
}
