/* The last steps of a child of pid 1 before it becomes a command.
 *
 * The body of a request holds words: the directory, the number of arguments, the arguments, the variables. Everything
 * that can go wrong here is told through `failure_fd`, which closes by itself when the program starts: so "could not be
 * started" and "ended with 127" are never confused. Until then the process is not dumpable, so no other process inside
 * can look into it or take its descriptors.
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(int fd, int stage, int error) __attribute__((noreturn));
static void fail(int fd, int stage, int error)
{
    struct failure failure = {stage, error};
    if (write(fd, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

/* Lowers one limit, soft and hard; never above what is already the case. */
static void lower(int resource, long long value)
{
    struct rlimit limit;
    if (value < 0 || getrlimit(resource, &limit) < 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

static void default_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void become_command(struct words *body, const int stdio[3], int failure_fd, const struct limits *limits, int stopped)
{
    char *directory = next_word(body);
    long long count = number(next_word(body));
    size_t variables = 0;
    if (!directory || count < 1)
        fail(failure_fd, STAGE_REQUEST, EINVAL);
    char **arguments = calloc(count + 1, sizeof *arguments);
    for (long long i = 0; arguments && i < count; i++)
        if (!(arguments[i] = next_word(body)))
            fail(failure_fd, STAGE_REQUEST, EINVAL);
    for (struct words copy = *body; next_word(&copy);)
        variables++;
    char **environment = calloc(variables + 1, sizeof *environment);
    if (!arguments || !environment)
        fail(failure_fd, STAGE_REQUEST, ENOMEM);
    for (size_t i = 0; i < variables; i++)
        environment[i] = next_word(body);

    setsid();
    for (int i = 0; i < 3; i++)
        if (dup2(stdio[i], i) < 0)
            fail(failure_fd, STAGE_REQUEST, errno);
    umask(022);
    lower(RLIMIT_CORE, 0);
    lower(RLIMIT_FSIZE, limits->file_bytes);
    lower(RLIMIT_NOFILE, limits->open_files);
    lower(RLIMIT_DATA, limits->data_bytes);
    lower(RLIMIT_NPROC, limits->processes);
    lower(RLIMIT_MEMLOCK, 8 << 20);
    default_signals();
    if (stopped)
        raise(SIGSTOP); /* the sandbox is frozen: go on when it thaws */
    if (chdir(directory) < 0)
        fail(failure_fd, STAGE_DIRECTORY, errno);
    environ = environment;
    execvp(arguments[0], arguments);
    fail(failure_fd, STAGE_EXEC, errno);
}
