/* The seccomp filter that every process of a sandbox lives under, made from the table in calls.c.
 *
 * It looks at registers only, so nothing can change between the check and the use. It refuses what a build, a test suite
 * or an agent has no need of and what widens the kernel's surface: keys, BPF, io_uring, kexec, user faults, performance
 * counters, mounts of both interfaces, new namespaces, tracing other processes (so gdb, strace and LeakSanitizer do not
 * work inside), pushing bytes into terminals, and socket families other than Unix, IPv4, IPv6 and route netlink. System
 * calls of another architecture (int 0x80, x32) end the process; with a guard they fail and are told. clone3 does not
 * exist: its flags lie in memory, and every libc falls back to clone. What is refused looks like a kernel without the
 * feature, so programs cope. What is cached of the files that all sandboxes share can neither be asked for nor thrown
 * away: code in one sandbox could leave a message for the next one there. The same goes for the numbers of sockets, which
 * the machine counts for all of them. pid 1 belongs to the same user as everything
 * inside, and the kernel would let any process of that user change its limits, which can end it: this is refused too.
 *
 * In a sandbox with a guard the same calls, and those that the guard tells about, go to the guard instead: it answers
 * with the same errors. Without anybody to answer, the kernel says ENOSYS to all of them.
 */
#include "calls.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static struct sock_filter code[1024];
static unsigned short length;

static void add(unsigned short operation, unsigned value, unsigned char yes, unsigned char no)
{
    code[length++] = (struct sock_filter){operation, yes, no, value};
}

static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
static void equal(unsigned value, unsigned char yes, unsigned char no) { add(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no); }
static void any_of(unsigned bits, unsigned char yes, unsigned char no) { add(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no); }
static void give(unsigned action) { add(BPF_RET | BPF_K, action, 0, 0); }

/* The low half of an argument; what is compared here is an int in the kernel, which ignores the rest. */
static size_t argument(int index) { return offsetof(struct seccomp_data, args) + index * 8; }

static void when_bits(int index, unsigned bits, unsigned action)
{
    load(argument(index));
    any_of(bits, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void when_pointer(int index, unsigned action)
{
    load(argument(index));
    equal(0, 0, 2);
    load(argument(index) + 4);
    equal(0, 1, 0);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void check_ioctl(unsigned action, int guarded)
{
    load(argument(1));
    equal(TIOCSTI, 2, 0);
    equal(TIOCLINUX, 1, 0);
    equal(guarded ? TIOCSPTLCK : TIOCSTI, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void check_prctl(unsigned action, int guarded)
{
    load(argument(0));
    equal(PR_SET_MM, 3, 0);
    equal(guarded ? PR_SET_PDEATHSIG : PR_SET_MM, 2, 0);
    equal(guarded ? PR_CAP_AMBIENT : PR_SET_MM, 1, 0);
    equal(guarded ? PR_SET_SECUREBITS : PR_SET_MM, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void when_equal(int index, unsigned value, unsigned action)
{
    load(argument(index));
    equal(value, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void check_priority(unsigned everybody, unsigned action)
{
    load(argument(1));
    equal(1, 2, 0);
    load(argument(0));
    equal(everybody, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

static void check_filter(unsigned action)
{
    load(argument(0));
    equal(SECCOMP_SET_MODE_FILTER, 0, 3);
    load(argument(1));
    any_of(SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
    give(action);
    give(SECCOMP_RET_ALLOW);
}

/* The cookie of a socket, or of its network namespace, is the next value of a counter of the whole machine. */
static void check_counter(void)
{
    load(argument(1));
    equal(SOL_SOCKET, 0, 4);
    load(argument(2));
    equal(SO_COOKIE, 1, 0);
    equal(SO_NETNS_COOKIE, 0, 1);
    give(SECCOMP_RET_ERRNO | ENOPROTOOPT);
    give(SECCOMP_RET_ALLOW);
}

/* Some families are allowed; raw sockets of them, which the kernel refuses, are worth telling where there is a guard. */
static void check_socket(unsigned action, int guarded)
{
    load(argument(0));
    equal(AF_UNIX, 8, 0);
    equal(AF_INET, guarded ? 4 : 7, 0);
    equal(AF_INET6, guarded ? 3 : 6, 0);
    equal(AF_NETLINK, 0, 6);
    load(argument(2));
    equal(NETLINK_ROUTE, 3, 4);
    load(argument(1));
    add(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
    equal(SOCK_RAW, 1, 0);
    give(SECCOMP_RET_ALLOW);
    give(action);
}

/* Everything about one call; every way through it ends in an action. */
static void check(const struct call *call, int guarded)
{
    unsigned refused = guarded ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | call->error;
    switch (call->rule) {
    case CLONE:
        when_bits(0, NEW_NAMESPACES, refused);
        break;
    case IOCTL:
        check_ioctl(refused, guarded);
        break;
    case PRCTL:
        check_prctl(refused, guarded);
        break;
    case LIMIT:
        if (guarded)
            when_pointer(call->extra, refused);
        else
            when_equal(0, 1, refused);
        break;
    case PRIORITY:
        check_priority(call->extra, refused);
        break;
    case SCHEDULE:
        if (guarded && call->extra != -1)
            give(refused);
        else
            when_equal(0, 1, refused);
        break;
    case FILTER:
        check_filter(refused);
        break;
    case SOCKET:
        check_socket(refused, guarded);
        break;
    case NOTHING:
        give(SECCOMP_RET_ERRNO | 0);
        break;
    case COUNTER:
        check_counter();
        break;
    case NOWAIT:
        if (call->extra >= 0)
            when_bits(call->extra, RWF_NOWAIT, SECCOMP_RET_ERRNO | EOPNOTSUPP);
        else
            give(SECCOMP_RET_ERRNO | ENOSYS);
        break;
    case OPEN:
        if (call->extra >= 0 && guarded == GUARD_WRITES)
            when_bits(call->extra, OPENS_FOR_WRITING, SECCOMP_RET_USER_NOTIF);
        else
            give(SECCOMP_RET_USER_NOTIF);
        break;
    case SEND:
        when_pointer(call->extra, SECCOMP_RET_USER_NOTIF);
        break;
    case SIGNAL_LATER:
        when_pointer(call->extra, SECCOMP_RET_USER_NOTIF);
        break;
    case LAYOUT:
        when_bits(0, ADDR_NO_RANDOMIZE, SECCOMP_RET_USER_NOTIF);
        break;
    case SIGNAL_WHEN:
        when_equal(call->path, call->extra, SECCOMP_RET_USER_NOTIF);
        break;
    case ALLOCATE_MUCH:
        load(argument(call->extra) + 4);
        equal(0, 1, 0);
        give(SECCOMP_RET_USER_NOTIF);
        give(SECCOMP_RET_ALLOW);
        break;
    default:
        give(refused);
    }
}

static void assemble(int guarded)
{
    unsigned foreign = guarded ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_KILL_PROCESS;
    load(offsetof(struct seccomp_data, arch));
    equal(NATIVE, 1, 0);
    give(foreign);
    load(offsetof(struct seccomp_data, nr));
    any_of(X32_BIT, 0, 1);
    give(foreign);
    for (size_t i = 0; i < call_count; i++) {
        if (!guarded && calls[i].rule > SOCKET)
            continue;
        unsigned short test = length;
        equal(calls[i].number, 0, 0);
        check(calls + i, guarded);
        code[test].jf = length - test - 1;
    }
    give(SECCOMP_RET_ALLOW);
}

int install_filter(int guarded)
{
    assemble(guarded);
    struct sock_fprog program = {length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (!guarded)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    if (listener < 0 && errno == EINVAL) /* before Linux 5.19 */
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return listener;
}
