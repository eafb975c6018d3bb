/* `guard FD`: answers for the calls that the filter of one sandbox stops, and tells the harness about them.
 *
 * FD holds words: `listener FD`, `records FD`, `control FD`, `init PID`, `user UID GID`, `inside UID`, `file_bytes N`,
 * `held PATH`, `writable PATH`, `reads`, `all_reads`, `secret PATH`, `programs N`, `hold`, `look`.
 *
 * It observes; mounts, namespaces and the filter enforce. It runs outside, as the user that the sandbox belongs to, which
 * is what lets it look into the sandbox's processes; it has no privileges, makes no sockets and starts nothing. A sandbox
 * without a user namespace of its own (a container) is out of that reach, so with `look` the guard keeps one privilege of
 * root's: to look into processes, with every call refused that could change one. It ends with the harness, whose end of
 * the control socket closes then. When it ends first, the kernel answers every call that it would have been asked about
 * with ENOSYS: nothing gets through unseen.
 *
 * Requests on the control socket are two numbers, the operation and an argument; each is answered with its argument.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#endif
#define SYNC_WAKE_UP 1UL
#define DRAIN 4096
#define DRAIN_NS 5000000000LL
#define SLICE_NS 100000

enum { LET_GO = 1, HOLD_AGAIN, PARK, UNPARK, SETTLE, WRITABLE, PROGRAMS };
struct control {
    uint32_t operation, argument;
    char text[PATH_MAX];
};

struct guard_plan plan = {.root = -1, .proc = -1, .file_bytes = -1, .programs = INT64_MAX};

static char *wanted(struct words *words)
{
    char *word = next_word(words);
    if (!word)
        die("the guard's plan ends too early");
    return word;
}

static void add_place(const char **places, int *count, const char *path)
{
    if (*count == MAX_PLACES)
        die("too many places for the guard: at most %d", MAX_PLACES);
    places[(*count)++] = path;
}

static void read_plan(int fd)
{
    struct words words;
    if (read_words(fd, &words) < 0)
        die_errno("cannot read the guard's plan");
    for (char *word; (word = next_word(&words));) {
        if (!strcmp(word, "listener"))
            plan.listener = number(wanted(&words));
        else if (!strcmp(word, "records"))
            plan.records = number(wanted(&words));
        else if (!strcmp(word, "control"))
            plan.control = number(wanted(&words));
        else if (!strcmp(word, "init"))
            plan.init = number(wanted(&words));
        else if (!strcmp(word, "inside"))
            plan.inside = number(wanted(&words));
        else if (!strcmp(word, "file_bytes"))
            plan.file_bytes = number(wanted(&words));
        else if (!strcmp(word, "programs"))
            plan.programs = number(wanted(&words));
        else if (!strcmp(word, "held"))
            plan.held = wanted(&words);
        else if (!strcmp(word, "writable"))
            add_place(plan.writable, &plan.writable_count, wanted(&words));
        else if (!strcmp(word, "reads"))
            plan.reads = 1;
        else if (!strcmp(word, "all_reads"))
            plan.all_reads = 1;
        else if (!strcmp(word, "secret")) {
            if (plan.secret_count == MAX_SECRETS)
                die("too many secrets for the guard: at most %d", MAX_SECRETS);
            plan.secrets[plan.secret_count++].path = wanted(&words);
        } else if (!strcmp(word, "hold"))
            holding = 1;
        else if (!strcmp(word, "look"))
            plan.look = 1;
        else if (!strcmp(word, "user")) {
            plan.uid = number(wanted(&words));
            plan.gid = number(wanted(&words));
        } else
            die("unknown word in the guard's plan: %s", word);
    }
}

/* Keeps the right to look into processes, and no other. */
static int keep_looking(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = 1U << CAP_SYS_PTRACE, .permitted = 1U << CAP_SYS_PTRACE}};
    return syscall(SYS_capset, &header, data);
}

static void give_up_privileges(void)
{
    if (plan.look && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        die_errno("the guard cannot look into the sandbox");
    if (geteuid() == 0 && (plan.uid <= 0 || plan.gid <= 0 || setgroups(0, NULL) < 0 ||
                           setresgid(plan.gid, plan.gid, plan.gid) < 0 || setresuid(plan.uid, plan.uid, plan.uid) < 0))
        die_errno("the guard cannot give up privileges");
    if (plan.look && keep_looking() < 0)
        die_errno("the guard cannot look into the sandbox");
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 6, 0, SYS_socket},
        {BPF_JMP | BPF_JEQ | BPF_K, 5, 0, SYS_execve},
        {BPF_JMP | BPF_JEQ | BPF_K, 4, 0, SYS_execveat},
        {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SYS_process_vm_writev},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_pidfd_getfd},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_ptrace},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        die_errno("the guard cannot give up privileges");
}

/* Whoever is stopped waits for the guard, and a signal that comes first can make the call fail: so it takes its turns
 * early. The short slice (from Linux 6.12 on) is open to everybody, the better priority only to root. */
static void be_prompt(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish, .nice = geteuid() == 0 ? -10 : getpriority(PRIO_PROCESS, 0), .runtime = SLICE_NS};
    if (syscall(SYS_sched_setattr, 0, &wish, 0) < 0)
        errno = 0; /* it works without, only later */
}

/* A pidfd for every process that is followed, and a few more. */
static void many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void look_at_one(void)
{
    static union {
        struct seccomp_notif notice;
        char space[512]; /* as much as a later kernel may want */
    } in;
    memset(&in, 0, sizeof in.notice);
    if (ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_RECV, &in.notice) < 0)
        return; /* its thread was killed */
    uint64_t arguments[6];
    memcpy(arguments, in.notice.data.args, sizeof arguments);
    struct stopped stopped = {in.notice.id, in.notice.pid, find_call(&in.notice.data), arguments};
    int result = stopped.call ? decide(&stopped) : ENOSYS;
    if (result != HELD)
        answer(stopped.id, result);
    write_records(0);
}

/* Looks at everything that is stopped at this moment; a thread can be stopped only once. It ends after a while all the
 * same, since the harness waits: what is still stopped then has not happened yet. */
static void look_at_all(void)
{
    int64_t end = clock_ns(CLOCK_MONOTONIC) + DRAIN_NS;
    for (int i = 0; i < DRAIN && clock_ns(CLOCK_MONOTONIC) < end; i++) {
        struct pollfd one = {plan.listener, POLLIN, 0};
        if (records_are_many() || plan.listener < 0 || poll(&one, 1, 0) <= 0 || !(one.revents & POLLIN))
            return;
        look_at_one();
    }
}

/* Nothing lives in the sandbox any more: keep none of it alive. */
static void let_sandbox_go(void)
{
    close(plan.listener);
    close(plan.root);
    close(plan.proc);
    plan.listener = plan.root = plan.proc = -1;
}

static void obey(void);

/* One process that has ended, if there is one; 0 when there is none. */
static int one_end(void)
{
    struct epoll_event event; /* one at a time: handling it may free what another one points at */
    if (epoll_wait(plan.epoll, &event, 1, 0) <= 0)
        return 0;
    process_ended(event.data.ptr);
    return 1;
}

/* What has happened within `wait_ms`; 0 when nothing has. It waits by poll, because a wake-up that asks to stay on the
 * waker's processor (SYNC_WAKE_UP) loses that wish on its way through epoll, which is there for many processes. */
static int look(int wait_ms)
{
    int many = records_are_many();
    struct pollfd wanted[] = {{many ? -1 : plan.listener, POLLIN, 0},
                              {plan.control, POLLIN, 0},
                              {many ? -1 : plan.epoll, POLLIN, 0},
                              {many ? plan.records : -1, POLLOUT, 0}};
    if (poll(wanted, many ? 4 : 3, wait_ms) <= 0)
        return 0;
    if (wanted[0].revents & POLLIN)
        look_at_one();
    else if (wanted[0].revents)
        let_sandbox_go();
    if (wanted[2].revents)
        one_end();
    if (wanted[1].revents)
        obey();
    return 1;
}

/* Every process that has ended by now. */
static void look_at_ended(void)
{
    while (one_end())
        ;
}

static void settle(long long which)
{
    static struct record record;
    look_at_all();
    look_at_ended();
    tell_repeats();
    begin(&record, "settled");
    add_number(&record, which);
    tell(&record);
    hurry();
}

/* What may be written from now on: words, each ended by a NUL. */
static void change_writable(const char *text, size_t size)
{
    char *copy = malloc(size + 1); /* the old ones stay: this happens a few times in the life of a sandbox */
    if (!copy)
        return;
    memcpy(copy, text, size);
    copy[size] = 0;
    plan.writable_count = 0;
    for (size_t at = 0; at < size && plan.writable_count < MAX_PLACES; at += strlen(copy + at) + 1)
        plan.writable[plan.writable_count++] = copy + at;
}

static void obey(void)
{
    static struct control request;
    ssize_t size = recv(plan.control, &request, sizeof request, 0);
    if (size < 0 && errno == EINTR)
        return;
    if (size < (ssize_t)offsetof(struct control, text)) {
        look_at_ended();
        tell_repeats();
        fcntl(plan.records, F_SETFL, 0); /* the harness reads to the end, or is gone */
        write_records(1);
        _exit(0);
    }
    switch (request.operation) {
    case LET_GO:
        let_go();
        break;
    case HOLD_AGAIN:
        holding = 1;
        break;
    case PARK:
        park();
        break;
    case UNPARK:
        parked = 0;
        break;
    case SETTLE:
        settle(request.argument);
        break;
    case PROGRAMS:
        allow_programs(request.argument == UINT32_MAX ? INT64_MAX : request.argument);
        break;
    case WRITABLE:
        change_writable(request.text, size - offsetof(struct control, text));
        break;
    }
    if (send(plan.control, &request.argument, sizeof request.argument, MSG_NOSIGNAL) < 0)
        _exit(0);
}

static void prepare(int plan_fd)
{
    read_plan(plan_fd);
    int kept[] = {plan.listener, plan.records, plan.control};
    keep_only(kept, 3);
    signal(SIGPIPE, SIG_IGN);
    many_files();
    be_prompt();
    look_at_layouts();
    plan.start = clock_ns(CLOCK_REALTIME_COARSE);
    give_up_privileges();
    plan.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (plan.epoll < 0 || open_sandbox() < 0)
        die_errno("the guard cannot look into the sandbox");
    ioctl(plan.listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP); /* from Linux 6.6 on: half the latency */
    fcntl(plan.records, F_SETPIPE_SZ, 1 << 20);
    fcntl(plan.records, F_SETFL, O_NONBLOCK);
    uint32_t ready = 0;
    if (send(plan.control, &ready, sizeof ready, MSG_NOSIGNAL) < 0)
        _exit(0);
}

static int wait_ms(void)
{
    int records = records_wait_ms(), starts = claims_wait_ms();
    return starts < 0 || (records >= 0 && records < starts) ? records : starts;
}

int guard_mode(int argc, char **argv)
{
    if (argc != 1)
        die("guard wants one descriptor");
    prepare(number(argv[0]));
    for (;;) {
        int quiet = !look(wait_ms());
        look_at_claims();
        write_records(quiet);
    }
}
