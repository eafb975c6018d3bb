/* `serve FD [NAME=NUMBER...]`: pid 1 inside the sandbox; the numbers are limits for commands, the gate (launch.c) and the
 * guard (filter.c).
 *
 * It takes requests from a SEQPACKET socket and answers each one on a pipe that came with it, so answers need no order
 * and a lost server is seen as the end of that pipe. It reaps everything, holds no secret, is not dumpable, and as the
 * init of its pid namespace it cannot be signalled from inside. The end of the socket is its end, and with it the end of
 * every process in the namespace.
 *
 * Requests: a `struct request` with descriptors.
 *     RUN   body, stdin, stdout, stderr, answer    run a command (command.c); answered when it has ended
 *     END   answer                                 kill all; answered when nothing is left, with the CPU time of all
 *     STOP  answer, CONT answer                    stop or continue all, where there is no freezer
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUN = 1, END, STOP, CONT };
#define MAX_FDS 5

struct request {
    uint32_t operation;
};

struct answer {
    int32_t stage, error, status, zero;
    int64_t wall_ns, cpu_ns, resident_bytes;
};

struct command {
    pid_t pid;
    int answer, failure;
    int64_t start;
    struct command *next;
};

struct hello {
    int32_t error;
    int listener; /* of the filter; none unless it is positive */
};

static struct command *commands;
static struct limits limits = {-1, -1, -1, -1};
static long long gate = -1;
static long long guarded = UNGUARDED;
static int ending = -1; /* where to answer once nothing is left */
static int stopped;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void give_answer(int fd, const struct answer *answer)
{
    if (write(fd, answer, sizeof *answer) < 0)
        errno = 0; /* nobody waits for it any more */
    close(fd);
}

static void refuse(int fd, int stage, int error)
{
    struct answer answer = {.stage = stage, .error = error};
    give_answer(fd, &answer);
}

static void start(const int fds[MAX_FDS])
{
    struct words body;
    int failure[2];
    struct command *command = calloc(1, sizeof *command);
    if (!command || read_words(fds[0], &body) < 0) {
        refuse(fds[4], STAGE_REQUEST, errno);
        free(command);
        return;
    }
    if (pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0) {
        refuse(fds[4], STAGE_FORK, errno);
        free(command);
        free(body.data);
        return;
    }
    command->start = now();
    command->pid = fork();
    if (command->pid == 0)
        become_command(&body, fds + 1, failure[1], &limits, stopped);
    int error = errno;
    free(body.data);
    close(failure[1]);
    if (command->pid < 0) {
        close(failure[0]);
        free(command);
        refuse(fds[4], STAGE_FORK, error);
        return;
    }
    command->answer = fds[4];
    command->failure = failure[0];
    command->next = commands;
    commands = command;
}

static int64_t cpu_ns(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL +
           (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000LL;
}

static void finish(pid_t pid, int status, const struct rusage *usage)
{
    for (struct command **link = &commands; *link; link = &(*link)->next) {
        struct command *command = *link;
        if (command->pid != pid)
            continue;
        struct failure failure = {STAGE_NONE, 0};
        if (read(command->failure, &failure, sizeof failure) != sizeof failure)
            failure = (struct failure){STAGE_NONE, 0};
        struct answer answer = {
            .stage = failure.stage,
            .error = failure.error,
            .status = status,
            .wall_ns = now() - command->start,
            .cpu_ns = cpu_ns(usage),
            .resident_bytes = usage->ru_maxrss * 1024LL,
        };
        close(command->failure);
        give_answer(command->answer, &answer);
        *link = command->next;
        free(command);
        return;
    }
}

/* No process is left: answers with the CPU time of all that ran here. Orphans are children of pid 1, so they count. */
static void answer_end(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_CHILDREN, &usage);
    struct answer answer = {.stage = STAGE_NONE, .cpu_ns = cpu_ns(&usage)};
    give_answer(ending, &answer);
    ending = -1;
}

static void reap(void)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid > 0) {
            finish(pid, status, &usage);
        } else if (pid < 0 && errno == ECHILD && ending >= 0) {
            answer_end();
            return;
        } else if (pid == 0 || errno != EINTR) {
            break;
        }
    }
    if (ending >= 0)
        kill(-1, SIGKILL);
}

static int receive(int socket, struct request *request, int fds[MAX_FDS])
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * MAX_FDS)];
    } control;
    struct iovec piece = {request, sizeof *request};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (size != sizeof *request)
        _exit(0); /* the harness is gone */
    int count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(part), count * sizeof(int));
    }
    return count;
}

static void handle(int socket)
{
    struct request request = {0};
    int fds[MAX_FDS];
    int count = receive(socket, &request, fds);
    if (request.operation == RUN && count == MAX_FDS) {
        start(fds);
        for (int i = 0; i < 4; i++)
            close(fds[i]);
    } else if (request.operation == END && count == 1) {
        ending = fds[0];
        kill(-1, SIGKILL);
        reap();
    } else if ((request.operation == STOP || request.operation == CONT) && count == 1) {
        stopped = request.operation == STOP;
        kill(-1, stopped ? SIGSTOP : SIGCONT);
        refuse(fds[0], STAGE_NONE, 0);
    } else {
        for (int i = 0; i < count; i++)
            close(fds[i]);
    }
}

static void read_limits(int count, char **words)
{
    const struct {
        const char *name;
        long long *value;
    } known[] = {
        {"file_bytes=", &limits.file_bytes},
        {"open_files=", &limits.open_files},
        {"data_bytes=", &limits.data_bytes},
        {"processes=", &limits.processes},
        {"gate=", &gate},
        {"guard=", &guarded},
    };
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (!strncmp(words[i], known[k].name, strlen(known[k].name)))
                *known[k].value = number(words[i] + strlen(known[k].name));
}

/* Waits until the guardian has put this process into its control groups. */
static void pass_gate(void)
{
    char byte;
    if (gate >= 3 && (send(gate, "", 1, MSG_NOSIGNAL) != 1 || recv(gate, &byte, 1, 0) != 1))
        _exit(1);
}

/* Says that all is well, or what is not; with it goes the listener of the filter. */
static int say_hello(int socket, struct hello hello)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {&hello.error, sizeof hello.error};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (hello.listener > 0) {
        memcpy(CMSG_DATA(&control.header), &hello.listener, sizeof hello.listener);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 || hello.error ? -1 : 0;
}

/* A thread from before the filter, which sends the hello when it is ready. A thread under the filter cannot
 * hand over the listener: its sendmsg would wait for the guard, which waits for the listener. */
static struct {
    pthread_t thread;
    sem_t ready;
    int socket, result;
    struct hello hello;
} messenger;

static void *wait_and_say(void *nothing)
{
    while (sem_wait(&messenger.ready) < 0)
        ;
    messenger.result = say_hello(messenger.socket, messenger.hello);
    return nothing;
}

static int start_messenger(int socket)
{
    messenger.socket = socket;
    sem_init(&messenger.ready, 0, 0);
    errno = pthread_create(&messenger.thread, NULL, wait_and_say, NULL);
    return errno ? -1 : 0;
}

static int send_messenger(struct hello hello)
{
    messenger.hello = hello;
    sem_post(&messenger.ready);
    return pthread_join(messenger.thread, NULL) ? -1 : messenger.result;
}

/* Descriptors for the signals and for the filter's listener, of which the second one is 0 without a guard. */
static int prepare(int *listener)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t mask;
    if ((*listener = install_filter(guarded)) < 0)
        return -1;
    sigaction(SIGPIPE, &ignore, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void shut_out(int socket)
{
    keep_only(&socket, 1);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; nothing >= 0 && i < 3; i++)
        dup2(nothing, i);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Everything up to the hello; the descriptor for signals, or the end. */
static int begin(int socket)
{
    int listener = 0, signals = -1;
    pass_gate();
    shut_out(socket);
    if (!guarded || start_messenger(socket) == 0)
        signals = prepare(&listener);
    struct hello hello = {signals < 0 ? errno : 0, listener};
    if ((listener > 0 ? send_messenger(hello) : say_hello(socket, hello)) < 0)
        _exit(1);
    if (listener > 0)
        close(listener);
    return signals;
}

int serve_mode(int argc, char **argv)
{
    int socket = argc > 0 ? number(argv[0]) : -1;
    if (socket < 3)
        die("serve wants a socket");
    read_limits(argc - 1, argv + 1);
    int signals = begin(socket);
    for (;;) {
        struct pollfd wanted[] = {{signals, POLLIN, 0}, {socket, POLLIN, 0}};
        if (ending >= 0)
            wanted[1].events = 0; /* nothing new while everything ends; a hang-up is still seen */
        if (poll(wanted, 2, -1) < 0)
            continue;
        struct signalfd_siginfo drained;
        while (wanted[0].revents && read(signals, &drained, sizeof drained) > 0)
            ;
        reap();
        if (wanted[1].revents & (POLLIN | POLLHUP | POLLERR)) {
            if (ending >= 0 && wanted[1].revents & (POLLHUP | POLLERR))
                return 0;
            if (ending < 0)
                handle(socket);
        }
    }
}
