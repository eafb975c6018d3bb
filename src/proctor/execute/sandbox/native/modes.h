/* The modes of proctor-init, and what they share.
 *
 * One static binary, one mode per file, chosen by the first argument:
 *
 *     launch FD     outside: stage the file systems, drop privileges, become bwrap, guarded by a parent (launch.c)
 *     serve FD ...  inside, as pid 1: run commands that the harness sends over a socket (serve.c)
 *     connect PATH  inside a container, as pid 1: the same over a socket that the harness listens at (connect.c)
 *     merge FD      outside: mount a workspace where a container engine finds it; `part DIR` undoes it (merge.c)
 *     guard FD      outside: answer for the calls that the filter stops, and tell about them (guard.c)
 *     probe ...     outside: try one mechanism and say whether this machine has it (probe.c)
 *     remount FD .. outside: make the workspace of a live sandbox read-only or writable (remount.c)
 *     listen FD ..  outside: open sockets in the network namespace of a live sandbox (listen.c)
 *
 * Under the name `stage` it is the client with which an agent asks for the next stage (ask.c).
 *
 * To add a mode: write `int NAME_mode(int argc, char **argv)` in a file of its own, declare it here and add one line to
 * the table in main.c. A mode gets the arguments after its name and returns an exit status. Everything it needs from
 * the harness arrives as arguments and descriptors; nothing is read from the environment.
 */
#ifndef PROCTOR_MODES_H
#define PROCTOR_MODES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int launch_mode(int argc, char **argv);
int serve_mode(int argc, char **argv);
int connect_mode(int argc, char **argv);
int merge_mode(int argc, char **argv);
int part_mode(int argc, char **argv);
int guard_mode(int argc, char **argv);
int probe_mode(int argc, char **argv);
int remount_mode(int argc, char **argv);
int listen_mode(int argc, char **argv);
int ask_mode(int argc, char **argv);

/* words.c: messages, and descriptors full of NUL-separated words */
struct words {
    char *data;   /* every word ends in a NUL */
    size_t size;
    size_t next;  /* where the next unread word starts */
};
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void die_errno(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
int read_words(int fd, struct words *words);        /* 0, or -1 with errno */
char *next_word(struct words *words);               /* NULL at the end */
long long number(const char *text);                 /* -1 unless text is a plain decimal number */
void keep_only(const int *kept, int count);         /* close every other descriptor from 3 up */

/* stage.c: the private mount namespace in which everything that a sandbox shows is put together */
#define STAGE "/tmp"
#define MAX_LOWERS 128
struct overlay {
    int lowers[MAX_LOWERS];
    int lower_count;
    int upper, work;
};
void private_mounts(void);                          /* a mount namespace of our own; a user namespace too unless root */
int open_source(const char *path);                  /* an O_PATH descriptor, or the end */
int mount_overlay(const struct overlay *overlay, const char *target); /* 0, or -1 with errno */
void bind_on(int source, const char *name);         /* shows `source` at STAGE/name */
void make_stage(void);

/* removal.c */
void remove_below(int root, char *path);            /* takes `path` away, and the directories that it empties */

/* guardian.c: stays outside, ends everything when the harness is gone */
#define MAX_GROUPS 16
struct groups {
    const char *directories[MAX_GROUPS];            /* control groups to enter and to remove at the end */
    int count;
    const char *pressure_file;                      /* a file to read often, if any */
    const char *thaw_file, *thaw_value;             /* what to write where before frozen processes can die */
    const char *born_in;                            /* the one of them that the child was born in, if any */
};
int guard(pid_t child, int lifeline, const struct groups *groups);
void open_gate(pid_t child, int gate, const struct groups *groups); /* lets pid 1 go once it is in its groups */
pid_t fork_inside(struct groups *groups);           /* fork, with the child in its group of version 2 if possible */
void enter_by_oneself(const struct groups *groups); /* the caller has one thread; groups that do not take it are left */

/* command.c: what one command is made of, on the inside */
struct limits {
    long long file_bytes, open_files, data_bytes, processes; /* -1: none */
};
enum { STAGE_NONE, STAGE_DIRECTORY, STAGE_EXEC, STAGE_FORK, STAGE_REQUEST };
struct failure {
    int32_t stage, error;
};
void become_command(struct words *body, const int stdio[3], int failure_fd, const struct limits *limits, int stopped)
    __attribute__((noreturn));

/* filter.c */
enum { UNGUARDED, GUARD_WRITES, GUARD_OPENS };      /* what a guard is asked about: opens for writing, or every open */
#define OPENS_FOR_WRITING (O_ACCMODE | O_CREAT | O_TRUNC)
#define NEW_NAMESPACES                                                                                               \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
int install_filter(int guarded);                    /* 0, or the listener when there is a guard; -1 with errno */

#endif
