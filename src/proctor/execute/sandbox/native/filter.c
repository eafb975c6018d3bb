/* The seccomp filter that every process of a sandbox lives under.
 *
 * It looks at registers only, so nothing can change between the check and the use. It refuses what a build, a test suite
 * or an agent has no need of and what widens the kernel's surface: keys, BPF, io_uring, kexec, user faults, performance
 * counters, mounts of both interfaces, new namespaces, tracing other processes (so gdb, strace and LeakSanitizer do not
 * work inside), pushing bytes into terminals, and socket families other than Unix, IPv4, IPv6 and route netlink. System
 * calls of another architecture (int 0x80, x32) end the process. clone3 does not exist: its flags lie in memory, and
 * every libc falls back to clone. What is refused looks like a kernel without the feature, so programs cope.
 */
#include "modes.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture"
#endif

#define X32_BIT 0x40000000U
#define NEW_NAMESPACES                                                                                               \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Numbers are the same on every architecture from 424 on; older headers lack some names. */
enum {
    NR_open_tree = 428, NR_move_mount, NR_fsopen, NR_fsconfig, NR_fsmount, NR_fspick,
    NR_io_uring_setup = 425, NR_io_uring_enter, NR_io_uring_register,
    NR_clone3 = 435, NR_pidfd_getfd = 438, NR_mount_setattr = 442, NR_quotactl_fd = 443, NR_open_tree_attr = 467,
};

static const struct {
    int number, error;
} refused[] = {
    {SYS_add_key, EPERM}, {SYS_request_key, EPERM}, {SYS_keyctl, EPERM},
    {SYS_bpf, EPERM}, {SYS_perf_event_open, EPERM}, {SYS_userfaultfd, EPERM},
    {NR_io_uring_setup, ENOSYS}, {NR_io_uring_enter, ENOSYS}, {NR_io_uring_register, ENOSYS},
    {SYS_kexec_load, EPERM}, {SYS_kexec_file_load, EPERM}, {SYS_reboot, EPERM},
    {SYS_init_module, EPERM}, {SYS_finit_module, EPERM}, {SYS_delete_module, EPERM},
    {SYS_mount, EPERM}, {SYS_umount2, EPERM}, {SYS_pivot_root, EPERM}, {SYS_chroot, EPERM},
    {NR_open_tree, EPERM}, {NR_move_mount, EPERM}, {NR_fsopen, EPERM}, {NR_fsconfig, EPERM},
    {NR_fsmount, EPERM}, {NR_fspick, EPERM}, {NR_mount_setattr, EPERM}, {NR_open_tree_attr, EPERM},
    {SYS_unshare, EPERM}, {SYS_setns, EPERM}, {NR_clone3, ENOSYS},
    {SYS_ptrace, EPERM}, {SYS_process_vm_readv, EPERM}, {SYS_process_vm_writev, EPERM}, {NR_pidfd_getfd, EPERM},
    {SYS_kcmp, EPERM}, {SYS_open_by_handle_at, EPERM}, {SYS_name_to_handle_at, EPERM},
    {SYS_swapon, EPERM}, {SYS_swapoff, EPERM}, {SYS_acct, EPERM}, {SYS_syslog, EPERM},
    {SYS_quotactl, EPERM}, {NR_quotactl_fd, EPERM}, {SYS_fanotify_init, EPERM},
    {SYS_settimeofday, EPERM}, {SYS_clock_settime, EPERM}, {SYS_vhangup, EPERM},
    {SYS_sethostname, EPERM}, {SYS_setdomainname, EPERM},
#ifdef __x86_64__
    {SYS_iopl, EPERM}, {SYS_ioperm, EPERM}, {SYS_modify_ldt, EPERM},
#endif
};

static struct sock_filter code[256];
static unsigned short length;

static void add(unsigned short operation, unsigned value, unsigned char yes, unsigned char no)
{
    code[length++] = (struct sock_filter){operation, yes, no, value};
}

static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
static void equal(unsigned value, unsigned char yes, unsigned char no) { add(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no); }
static void give(unsigned action) { add(BPF_RET | BPF_K, action, 0, 0); }

/* The low half of an argument; what is compared here is an int in the kernel, which ignores the rest. */
static size_t argument(int index) { return offsetof(struct seccomp_data, args) + index * 8; }

static void check_clone(void)
{
    equal(SYS_clone, 0, 4);
    load(argument(0));
    add(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
    give(SECCOMP_RET_ERRNO | EPERM);
    give(SECCOMP_RET_ALLOW);
}

static void check_ioctl(void)
{
    equal(SYS_ioctl, 0, 5);
    load(argument(1));
    equal(TIOCSTI, 1, 0);
    equal(TIOCLINUX, 0, 1);
    give(SECCOMP_RET_ERRNO | EPERM);
    give(SECCOMP_RET_ALLOW);
}

static void check_socket(int number)
{
    equal(number, 0, 9);
    load(argument(0));
    equal(AF_UNIX, 5, 0);
    equal(AF_INET, 4, 0);
    equal(AF_INET6, 3, 0);
    equal(AF_NETLINK, 0, 3);
    load(argument(2));
    equal(NETLINK_ROUTE, 0, 1);
    give(SECCOMP_RET_ALLOW);
    give(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void assemble(void)
{
    load(offsetof(struct seccomp_data, arch));
    equal(NATIVE, 1, 0);
    give(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    add(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1);
    give(SECCOMP_RET_KILL_PROCESS);
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        equal(refused[i].number, 0, 1);
        give(SECCOMP_RET_ERRNO | refused[i].error);
    }
    check_clone();
    check_ioctl();
    check_socket(SYS_socket);
    check_socket(SYS_socketpair);
    give(SECCOMP_RET_ALLOW);
}

int install_filter(void)
{
    assemble();
    struct sock_fprog program = {length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
