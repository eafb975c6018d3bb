/* Who is who: pids in here against pids in the sandbox, who started whom, and when it ended.
 *
 * A process that has started a program is followed by a pidfd until it ends. Its exit status is in /proc while nobody has
 * waited for it, and with the pidfd afterwards on kernels from 6.15 on; where neither answers, it stays unknown.
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

struct process *who_is(pid_t thread)
{
    static struct process stranger;
    char text[4096];
    struct process *process = find(thread);
    if (process)
        return process;
    if (read_proc(thread, "status", text, sizeof text) < 0)
        return NULL;
    pid_t leader = field(text, "\nTgid:", 0);
    if (leader != thread && (process = find(leader)))
        return process;
    stranger = (struct process){
        .outside = leader,
        .inside = field(text, "\nNStgid:", 1),
        .parent_outside = field(text, "\nPPid:", 0),
        .handle = -1,
    };
    return &stranger;
}

long long inside_of(long long outside)
{
    char text[4096];
    struct process *process = find(outside);
    if (process)
        return process->inside;
    if (outside <= 0 || read_proc(outside, "status", text, sizeof text) < 0)
        return 0;
    return field(text, "\nNStgid:", 1);
}

void follow(struct process *process)
{
    struct process *copy;
    if (find(process->outside) || followed_count >= MAX_FOLLOWED || !(copy = malloc(sizeof *copy)))
        return;
    *copy = *process;
    copy->start = clock_ns(CLOCK_MONOTONIC);
    copy->handle = syscall(SYS_pidfd_open, process->outside, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = copy};
    if (copy->handle < 0 || epoll_ctl(plan.epoll, EPOLL_CTL_ADD, copy->handle, &event) < 0) {
        if (copy->handle >= 0)
            close(copy->handle);
        free(copy);
        return;
    }
    copy->next = followed[copy->outside % BUCKETS];
    followed[copy->outside % BUCKETS] = copy;
    followed_count++;
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

void process_ended(struct process *process)
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
