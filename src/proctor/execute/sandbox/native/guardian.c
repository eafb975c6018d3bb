/* The guardian: what stays outside while a sandbox lives.
 *
 * It is the parent of bwrap and a child of the harness, has one thread and holds one end of a lifeline. When the harness
 * closes the other end or dies, in whatever way, and not before, the guardian thaws what is frozen, kills bwrap (whose
 * death ends pid 1 inside, whose death ends everything inside), waits until all of it is gone and removes the control
 * groups. When the guardian itself is killed, the parent-death signal does the same, less the groups, which the sweep
 * removes.
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 20

static int write_file(const char *directory, const char *name, const char *text)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s%s%s", directory, *name ? "/" : "", name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t done = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return done < 0 ? -1 : 0;
}

/* Whether a group takes single threads, as those of version 1 do. */
static int takes_threads(const char *directory)
{
    char path[4096];
    return snprintf(path, sizeof path, "%s/tasks", directory) < (int)sizeof path && access(path, F_OK) == 0;
}

void enter_by_oneself(const struct groups *groups)
{
    for (int i = 0; i < groups->count; i++)
        if (takes_threads(groups->directories[i]) && write_file(groups->directories[i], "tasks", "0") < 0)
            die_errno("cannot enter the control group %s", groups->directories[i]);
}

pid_t fork_inside(struct groups *groups)
{
    for (int i = 0; i < groups->count; i++) {
        if (takes_threads(groups->directories[i]))
            continue;
        int directory = open(groups->directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct clone_args arguments = {
            .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)directory};
        pid_t child = directory < 0 ? -1 : (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
        if (child == 0)
            return 0;
        if (directory >= 0)
            close(directory);
        if (child > 0) {
            groups->born_in = groups->directories[i];
            return child;
        }
    }
    return fork();
}

static void enter_groups(pid_t process, const struct groups *groups)
{
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)process);
    for (int i = 0; i < groups->count; i++)
        if (groups->directories[i] != groups->born_in && !takes_threads(groups->directories[i]) &&
            write_file(groups->directories[i], "cgroup.procs", pid) < 0 && errno != ESRCH)
            die_errno("cannot enter the control group %s", groups->directories[i]);
}

/* The pid of whoever knocks at the gate, which only pid 1 of the sandbox does; 0 when the sandbox has failed instead. */
static pid_t who_knocks(int gate)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size;
    while ((size = recvmsg(gate, &message, 0)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *part = size == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS)
        return 0;
    struct ucred credentials;
    memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
    return credentials.pid;
}

void open_gate(pid_t child, int gate, const struct groups *groups)
{
    enter_groups(child, groups); /* whatever bwrap starts from here on is in the groups as well */
    pid_t first = who_knocks(gate);
    if (first > 0) {
        enter_groups(first, groups);
        if (send(gate, "", 1, MSG_NOSIGNAL) < 0)
            errno = 0; /* it has failed and said why */
    }
    close(gate);
}

static void remove_groups(const struct groups *groups)
{
    for (int i = 0; i < groups->count; i++)
        for (int tries = 0; rmdir(groups->directories[i]) < 0 && errno == EBUSY && tries < 1000; tries++)
            usleep(1000);
}

static void wait_for_all(pid_t child, int *status)
{
    for (;;) {
        int one;
        pid_t pid = waitpid(-1, &one, 0);
        if (pid < 0 && errno == ECHILD)
            return;
        if (pid == child)
            *status = one;
    }
}

/* Waits for the lifeline. The kernel adds to the time that a group was kept from running at each reading, as the mean
 * over processors since the last one. Frequent readings make it exact for a process that moves between processors. The
 * harness reads the total, but is too slow for frequent readings on a loaded machine. */
static void wait_for_end(int lifeline, const char *pressure)
{
    char text[256];
    int fd = pressure ? open(pressure, O_RDONLY | O_CLOEXEC) : -1;
    for (struct pollfd wanted = {lifeline, POLLIN, 0}; poll(&wanted, 1, fd < 0 ? -1 : LOOK_MS) <= 0;)
        if (fd >= 0 && pread(fd, text, sizeof text, 0) < 0)
            errno = 0; /* the group is gone, and the lifeline ends soon */
    if (fd >= 0)
        close(fd);
}

int guard(pid_t child, int lifeline, const struct groups *groups)
{
    int status = 0;
    wait_for_end(lifeline, groups->pressure_file);
    if (groups->thaw_file)
        write_file(groups->thaw_file, "", groups->thaw_value);
    kill(child, SIGKILL);
    wait_for_all(child, &status);
    remove_groups(groups);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
