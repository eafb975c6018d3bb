/* The table. The calls that happen most come first, because the filter compares one after the other. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Numbers are the same on every architecture from 424 on; older headers lack some names. */
enum {
    NR_pidfd_send_signal = 424, NR_io_uring_setup, NR_io_uring_enter, NR_io_uring_register,
    NR_open_tree, NR_move_mount, NR_fsopen, NR_fsconfig, NR_fsmount, NR_fspick,
    NR_clone3 = 435, NR_openat2 = 437, NR_pidfd_getfd, NR_process_madvise = 440, NR_mount_setattr = 442,
    NR_quotactl_fd = 443, NR_memfd_secret = 447, NR_process_mrelease = 448, NR_cachestat = 451, NR_fchmodat2, NR_setxattrat = 463, NR_removexattrat = 466,
    NR_open_tree_attr, NR_file_setattr = 469,
};

#define NAMED(call) .number = SYS_##call, .name = #call
#define NUMBERED(call) .number = NR_##call, .name = #call
#define AT(dir, at) .directory = dir, .path = at
#define HERE(at) .directory = -1, .path = at
#define BY_DESCRIPTOR .directory = 0, .path = -1
#define TWO(dir, at, dir2, at2) .directory = dir, .path = at, .directory2 = dir2, .path2 = at2
#define NEVER(call, why, code) {NAMED(call), .kind = why, .rule = REFUSE, .error = code}
#define NEVER_NEW(call, why, code) {NUMBERED(call), .kind = why, .rule = REFUSE, .error = code}

const struct call calls[] = {
    {NAMED(openat), .rule = OPEN, AT(0, 1), .extra = 2},
    {NAMED(clone), .kind = "namespace", .rule = CLONE, .error = EPERM},
    {NAMED(ioctl), .kind = "terminal", .rule = IOCTL, .error = EPERM},
    {NAMED(prctl), .kind = "trace", .rule = PRCTL, .error = EPERM},
    {NAMED(set_tid_address), .rule = BEGIN},
    {NAMED(sendto), .rule = SEND, .extra = 4},
    {NAMED(socket), .kind = "socket", .rule = SOCKET, .error = EAFNOSUPPORT},
    {NAMED(socketpair), .kind = "socket", .rule = SOCKET, .error = EAFNOSUPPORT},
#ifdef __x86_64__
    {NAMED(open), .rule = OPEN, HERE(0), .extra = 1},
    {NAMED(creat), .rule = OPEN, HERE(0), .extra = -2},
    {NAMED(unlink), .rule = CHANGE, HERE(0), .options = ON_LINK},
    {NAMED(rmdir), .rule = CHANGE, HERE(0), .options = ON_LINK},
    {NAMED(mkdir), .rule = CHANGE, HERE(0), .options = ON_LINK | MAKES},
    {NAMED(symlink), .rule = CHANGE, HERE(1), .options = ON_LINK | MAKES},
    {NAMED(chmod), .rule = CHANGE_MODE, HERE(0), .extra = 1},
    {NAMED(chown), .rule = CHANGE_OWNER, HERE(0), .extra = 1},
    {NAMED(lchown), .rule = CHANGE_OWNER, HERE(0), .extra = 1, .options = ON_LINK},
    {NAMED(mknod), .kind = "device", .rule = MAKE_NODE, .error = EPERM, HERE(0), .extra = 1, .options = ON_LINK | MAKES},
    {NAMED(utime), .rule = CHANGE, HERE(0)},
    {NAMED(utimes), .rule = CHANGE, HERE(0)},
    {NAMED(futimesat), .rule = CHANGE, AT(0, 1)},
    {NAMED(rename), .rule = RENAME, TWO(-1, 0, -1, 1)},
    {NAMED(link), .rule = LINK, TWO(-1, 0, -1, 1)},
#endif
    {NUMBERED(openat2), .rule = OPEN, AT(0, 1), .extra = -1},
    {NAMED(unlinkat), .rule = CHANGE, AT(0, 1), .options = ON_LINK},
    {NAMED(mkdirat), .rule = CHANGE, AT(0, 1), .options = ON_LINK | MAKES},
    {NAMED(symlinkat), .rule = CHANGE, AT(1, 2), .options = ON_LINK | MAKES},
    {NAMED(mknodat), .kind = "device", .rule = MAKE_NODE, .error = EPERM, AT(0, 1), .extra = 2,
     .options = ON_LINK | MAKES},
    {NAMED(renameat), .rule = RENAME, TWO(0, 1, 2, 3)},
    {NAMED(renameat2), .rule = RENAME, TWO(0, 1, 2, 3)},
    {NAMED(linkat), .rule = LINK, TWO(0, 1, 2, 3), .at_flags = 4},
    {NAMED(truncate), .rule = CHANGE, HERE(0)},
    {NAMED(fchmod), .rule = CHANGE_MODE, BY_DESCRIPTOR, .extra = 1},
    {NAMED(fchmodat), .rule = CHANGE_MODE, AT(0, 1), .extra = 2},
    {NUMBERED(fchmodat2), .rule = CHANGE_MODE, AT(0, 1), .extra = 2, .options = FLAG_LINK, .at_flags = 3},
    {NAMED(fchown), .rule = CHANGE_OWNER, BY_DESCRIPTOR, .extra = 1},
    {NAMED(fchownat), .rule = CHANGE_OWNER, AT(0, 1), .extra = 2, .options = FLAG_LINK, .at_flags = 4},
    {NAMED(utimensat), .rule = CHANGE, AT(0, 1), .options = FLAG_LINK, .at_flags = 3},
    {NAMED(setxattr), .rule = CHANGE_ATTRIBUTE, HERE(0), .extra = 1},
    {NAMED(lsetxattr), .rule = CHANGE_ATTRIBUTE, HERE(0), .extra = 1, .options = ON_LINK},
    {NAMED(fsetxattr), .rule = CHANGE_ATTRIBUTE, BY_DESCRIPTOR, .extra = 1},
    {NAMED(removexattr), .rule = CHANGE, HERE(0)},
    {NAMED(lremovexattr), .rule = CHANGE, HERE(0), .options = ON_LINK},
    {NAMED(fremovexattr), .rule = CHANGE, BY_DESCRIPTOR},
    {NUMBERED(setxattrat), .rule = CHANGE_ATTRIBUTE, AT(0, 1), .extra = 3, .options = FLAG_LINK, .at_flags = 2},
    {NUMBERED(file_setattr), .rule = CHANGE, AT(0, 1), .options = FLAG_LINK, .at_flags = 4},
    {NUMBERED(removexattrat), .rule = CHANGE, AT(0, 1), .options = FLAG_LINK, .at_flags = 2},
    {NAMED(fallocate), .kind = "space", .rule = ALLOCATE, .extra = 2},
    {NAMED(ftruncate), .kind = "space", .rule = ALLOCATE_MUCH, .extra = 1},
    {NAMED(execve), .rule = EXECUTE, HERE(0), .extra = 1},
    {NAMED(execveat), .rule = EXECUTE, AT(0, 1), .extra = 2},
    {NAMED(personality), .rule = LAYOUT},
    {NAMED(connect), .rule = CONNECT, .error = ENETUNREACH, .extra = 1},
    {NAMED(bind), .rule = BIND, .extra = 1},
    {NAMED(sendmmsg), .rule = SEND_MANY, .error = ENETUNREACH},
    {NAMED(sendmsg), .rule = SEND_MESSAGE, .error = ENETUNREACH},
    {NAMED(kill), .rule = SIGNAL, .error = EPERM, .path = 0, .extra = 1},
    {NAMED(tkill), .rule = SIGNAL, .error = EPERM, .path = 0, .extra = 1},
    {NAMED(tgkill), .rule = SIGNAL, .error = EPERM, .path = 0, .extra = 2},
    {NAMED(rt_sigqueueinfo), .rule = SIGNAL, .error = EPERM, .path = 0, .extra = 1},
    {NAMED(rt_tgsigqueueinfo), .rule = SIGNAL, .error = EPERM, .path = 0, .extra = 2},
    {NUMBERED(pidfd_send_signal), .rule = SIGNAL_BY_PIDFD, .error = EPERM, .extra = 1},
    {NAMED(timer_create), .rule = SIGNAL_LATER, .extra = 1},
    {NAMED(mq_notify), .rule = SIGNAL_LATER, .extra = 1},
    {NAMED(fcntl), .rule = SIGNAL_WHEN, .path = 1, .extra = F_SETSIG},
    {NAMED(setrlimit), .rule = LIMIT_OWN, .error = EPERM, .path = 0, .extra = 1},
    {NAMED(prlimit64), .kind = "trace", .rule = LIMIT, .error = EPERM, .path = 1, .extra = 2},
    {NAMED(setpriority), .kind = "trace", .rule = PRIORITY, .error = EPERM, .extra = PRIO_USER},
    {NAMED(ioprio_set), .kind = "trace", .rule = PRIORITY, .error = EPERM, .extra = 3 /* IOPRIO_WHO_USER */},
    {NAMED(sched_setscheduler), .kind = "trace", .rule = SCHEDULE, .error = EPERM, .extra = 1},
    {NAMED(sched_setattr), .kind = "trace", .rule = SCHEDULE, .error = EPERM, .extra = -2},
    {NAMED(sched_setparam), .kind = "trace", .rule = SCHEDULE, .error = EPERM, .extra = -1},
    {NAMED(sched_setaffinity), .kind = "trace", .rule = SCHEDULE, .error = EPERM, .extra = -1},
    {NAMED(seccomp), .kind = "trace", .rule = FILTER, .error = EBUSY},
    {NUMBERED(process_madvise), .kind = "trace", .rule = BY_PIDFD, .error = EPERM},
    {NUMBERED(process_mrelease), .kind = "trace", .rule = BY_PIDFD, .error = EPERM},
    {NAMED(setuid), .rule = IDENTITY, .error = EPERM, .extra = 1},
    {NAMED(setgid), .rule = IDENTITY, .error = EPERM, .extra = 1},
    {NAMED(setreuid), .rule = IDENTITY, .error = EPERM, .extra = 2},
    {NAMED(setregid), .rule = IDENTITY, .error = EPERM, .extra = 2},
    {NAMED(setresuid), .rule = IDENTITY, .error = EPERM, .extra = 3},
    {NAMED(setresgid), .rule = IDENTITY, .error = EPERM, .extra = 3},
    {NAMED(setfsuid), .rule = IDENTITY, .extra = 1},
    {NAMED(setfsgid), .rule = IDENTITY, .extra = 1},
    {NAMED(setgroups), .rule = GROUPS, .error = EPERM},
    {NAMED(capset), .rule = CAPABILITIES, .error = EPERM},
    {NUMBERED(clone3), .kind = "namespace", .rule = CLONE3, .error = ENOSYS},
    NEVER(add_key, "keys", EPERM),
    NEVER(request_key, "keys", EPERM),
    NEVER(keyctl, "keys", EPERM),
    NEVER(bpf, "bpf", EPERM),
    NEVER(perf_event_open, "perf", EPERM),
    NEVER(userfaultfd, "userfault", EPERM),
    NEVER_NEW(io_uring_setup, "io_uring", ENOSYS),
    NEVER_NEW(io_uring_enter, "io_uring", ENOSYS),
    NEVER_NEW(io_uring_register, "io_uring", ENOSYS),
    NEVER(kexec_load, "kernel", EPERM),
    NEVER(kexec_file_load, "kernel", EPERM),
    NEVER(reboot, "kernel", EPERM),
    NEVER(init_module, "kernel", EPERM),
    NEVER(finit_module, "kernel", EPERM),
    NEVER(delete_module, "kernel", EPERM),
    NEVER(mount, "mount", EPERM),
    NEVER(umount2, "mount", EPERM),
    NEVER(pivot_root, "mount", EPERM),
    NEVER(chroot, "mount", EPERM),
    NEVER_NEW(open_tree, "mount", EPERM),
    NEVER_NEW(move_mount, "mount", EPERM),
    NEVER_NEW(fsopen, "mount", EPERM),
    NEVER_NEW(fsconfig, "mount", EPERM),
    NEVER_NEW(fsmount, "mount", EPERM),
    NEVER_NEW(fspick, "mount", EPERM),
    NEVER_NEW(mount_setattr, "mount", EPERM),
    NEVER_NEW(open_tree_attr, "mount", EPERM),
    NEVER(unshare, "namespace", EPERM),
    NEVER(setns, "namespace", EPERM),
    NEVER(ptrace, "trace", EPERM),
    NEVER(process_vm_readv, "trace", EPERM),
    NEVER(process_vm_writev, "trace", EPERM),
    NEVER_NEW(pidfd_getfd, "trace", EPERM),
    NEVER(kcmp, "trace", EPERM),
    NEVER(open_by_handle_at, "handle", EPERM),
    NEVER(name_to_handle_at, "handle", EPERM),
    NEVER(swapon, "system", EPERM),
    NEVER(swapoff, "system", EPERM),
    NEVER(acct, "system", EPERM),
    NEVER(syslog, "system", EPERM),
    NEVER(quotactl, "system", EPERM),
    NEVER_NEW(quotactl_fd, "system", EPERM),
    NEVER(fanotify_init, "system", EPERM),
    NEVER(fanotify_mark, "system", EPERM),
    NEVER(vhangup, "system", EPERM),
    NEVER(sethostname, "system", EPERM),
    NEVER(setdomainname, "system", EPERM),
    NEVER_NEW(memfd_secret, "secret", ENOSYS),
    {NAMED(fadvise64), .rule = NOTHING},
    {NAMED(getsockopt), .rule = COUNTER},
    {NAMED(preadv2), .rule = NOWAIT, .extra = 5},
    {NUMBERED(cachestat), .rule = NOWAIT, .extra = -1},
    NEVER(settimeofday, "clock", EPERM),
    NEVER(clock_settime, "clock", EPERM),
    {NAMED(adjtimex), .kind = "clock", .rule = ADJUST, .error = EPERM, .extra = 0},
    {NAMED(clock_adjtime), .kind = "clock", .rule = ADJUST, .error = EPERM, .extra = 1},
#ifdef __x86_64__
    NEVER(iopl, "ports", EPERM),
    NEVER(ioperm, "ports", EPERM),
    NEVER(modify_ldt, "ports", EPERM),
#endif
};

const size_t call_count = sizeof calls / sizeof *calls;

/* Calls of another architecture are all the same row: their numbers mean something else. */
static const struct call *foreign_call(int number)
{
    static char name[32];
    static const struct call row = {.name = name, .kind = "foreign", .rule = REFUSE, .error = ENOSYS};
    snprintf(name, sizeof name, "foreign %d", number);
    return &row;
}

const struct call *find_call(const struct seccomp_data *data)
{
    if (data->arch != NATIVE || data->nr & X32_BIT)
        return foreign_call(data->nr & ~X32_BIT);
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].number == data->nr)
            return calls + i;
    return NULL;
}
