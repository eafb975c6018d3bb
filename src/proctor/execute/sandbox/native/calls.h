/* The one table of system calls that the filter (filter.c) and the guard (guard*.c) both go by.
 *
 * A row says which call it is, what kind of thing it touches, by which rule the guard decides about it, and in which
 * arguments the paths lie. What is not in the table is allowed without a look.
 */
#ifndef PROCTOR_CALLS_H
#define PROCTOR_CALLS_H

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define X32_BIT 0
#else
#error "no system call filter for this architecture"
#endif

enum rule {
    REFUSE,        /* never allowed, guard or no guard: answered with `error` and told as `syscall-KIND` */
    CLONE,         /* refused like that when it asks for new namespaces */
    CLONE3,        /* refused always; told only when it asks for namespaces */
    IOCTL,         /* refused for what pushes bytes into terminals; the guard records new terminals, which send signals */
    PRCTL,         /* refused for changing what /proc shows of a process's memory: the guard goes by it; the guard
                      records signals at a parent's death, and capabilities that are to be kept */
    NOTHING,       /* does nothing and succeeds, with or without a guard; not recorded: advice about cached files */
    NOWAIT,        /* refused when the flags in argument `extra` ask whether a part of a file is cached; not recorded */
    COUNTER,       /* refused when it asks for a socket's number, from a counter of all sandboxes; not recorded */
    LIMIT,         /* changes a limit of the process in argument 0: refused for pid 1; the guard records limits that are
                      raised. `path` is the argument with the resource, `extra` that with the limit */
    PRIORITY,      /* refused when it means pid 1, or by argument 0 (`extra`) every process of the user */
    SCHEDULE,      /* refused for pid 1; the guard records real-time policies. `extra` is the argument with the policy;
                      -1: there is none; -2: it is in memory */
    FILTER,        /* refused for a filter with a listener: there can be one for each process */
    SOCKET,        /* refused for odd families, with or without a guard */
    /* From here on only a sandbox with a guard takes notice. */
    OPEN,          /* `extra` is the argument with the flags; -1: they lie in memory; -2: always for writing */
    CHANGE,        /* changes what a path names */
    CHANGE_MODE,   /* the same; `extra` is the argument with the mode */
    CHANGE_ATTRIBUTE, /* the same; `extra` is the argument with the name of the attribute */
    CHANGE_OWNER,  /* the same; `extra` is the argument with the uid, the gid follows */
    MAKE_NODE,     /* the same; `extra` is the argument with the mode */
    RENAME,        /* two paths change */
    LINK,          /* the second path changes, the first one gets another name */
    EXECUTE,       /* `extra` is the argument with the arguments */
    BEGIN,         /* what every libc does first in a new program and never again */
    LAYOUT,        /* turns the random layout of memory off */
    CONNECT, SEND, SEND_MESSAGE, SEND_MANY, BIND,
    SIGNAL,        /* `extra` is the argument with the signal number, `path` that with the target */
    SIGNAL_BY_PIDFD,
    SIGNAL_LATER,  /* may send a signal later; `extra` is the argument that points to a struct sigevent */
    SIGNAL_WHEN,   /* the same, when argument `path` is the number `extra` */
    LIMIT_OWN,     /* like LIMIT, for the process itself */
    BY_PIDFD,      /* refused for any process but the caller's own */
    IDENTITY,      /* changes user or group; `extra` is how many ids there are */
    GROUPS, CAPABILITIES,
    ADJUST,        /* changes the clock unless the struct timex at argument `extra` only asks */
    ALLOCATE,      /* `extra` is the argument with the size or, for fallocate, the offset before it */
    ALLOCATE_MUCH, /* the same; only sizes of 4 GiB and more are worth a look */
};

enum {
    ON_LINK = 1,   /* a symbolic link at the end is not followed */
    MAKES = 2,     /* fails when something is there already */
    FLAG_LINK = 4, /* AT_SYMLINK_NOFOLLOW decides about links; the flags are the last argument, `at_flags` */
};

struct call {
    int number;
    const char *name, *kind;
    enum rule rule;
    int error;
    signed char directory, path;   /* arguments; a directory of -1 is the current one, a path of -1 the descriptor's */
    signed char directory2, path2;
    signed char extra;
    unsigned char options;
    signed char at_flags;
};

extern const struct call calls[];
extern const size_t call_count;

const struct call *find_call(const struct seccomp_data *data); /* NULL: not in the table */

#endif
