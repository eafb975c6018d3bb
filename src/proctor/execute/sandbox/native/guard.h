/* What the parts of the guard share: the call that is being looked at, processes, places, records. */
#ifndef PROCTOR_GUARD_H
#define PROCTOR_GUARD_H

#include "calls.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_PLACES 256
#define MAX_ARGUMENT_BYTES 16384
#define MAX_ARGUMENTS 512

struct guard_plan {
    int listener, records, control, epoll;
    pid_t init;                              /* pid 1 of the sandbox, as seen from here */
    long long uid, gid, inside, file_bytes;  /* who to become; the uid and gid inside; the most that a file may hold */
    const char *writable[MAX_PLACES];
    int writable_count;
    const char *canaries[MAX_PLACES];
    int canary_count;
    const char *held;                        /* below this place the first change is held */
    int reads;                               /* tell reads below `held` */
    long long programs;                      /* so many may start before the harness has allowed more */
    int look;                                /* keep the privilege to look into processes */
    int root, proc;                          /* the sandbox's own / and /proc */
};
extern struct guard_plan plan;

/* A call that the kernel has stopped and asks about. */
struct stopped {
    uint64_t id;
    pid_t thread;
    const struct call *call;
    const uint64_t *arguments;
};

/* What becomes of it: an error number, 0 to let it go on, or HELD: it will be answered later. */
#define HELD (-1)
#ifndef ERESTARTNOINTR
#define ERESTARTNOINTR 513                   /* the call starts again, whatever signals there are */
#endif

/* guard_memory.c: what is read through a pointer of another process, and can change at any time */
ssize_t read_memory(pid_t thread, uint64_t address, void *into, size_t size);
ssize_t read_text(pid_t thread, uint64_t address, char *into, size_t size); /* its length, or -1 */
size_t read_arguments(pid_t thread, uint64_t address, char *into);          /* bytes of words, each ended by a NUL */

/* guard_places.c */
struct place {
    char claimed[PATH_MAX];                  /* as the process gave it, made absolute */
    char real[PATH_MAX];                     /* with links followed as far as that was possible */
    mode_t mode;                             /* 0: nothing is there, or nobody has looked */
    int missing_parent, read_only;
    int absent;                              /* certainly nothing is there */
    int by_descriptor;                       /* no path was given: an open file */
};
enum { FOLLOW = 1, READING = 2, CLOSELY = 4 }; /* a link at the end; nothing will change; the mode is wanted */
int locate(const struct stopped *stopped, int directory, int path, int how, struct place *place); /* 0 or -1 */
int is_within(const char *path, const char *top);
int is_writable(const char *path);
const char *proc_part(const char *path, long long *pid); /* what follows /proc/PID in path; NULL: not of that form */
int open_sandbox(void);

/* guard_processes.c: who is who; every number in a record is one of the sandbox's own pid namespace */
struct process {
    pid_t outside;
    long long inside, parent_outside;
    long long origin;                        /* the nearest ancestor that has started a program; 0: none was left */
    int started;                             /* it has started one itself */
    uint64_t fork_of;                        /* what it was a copy of before that: see find_origin */
    int handle;                              /* a pidfd, or -1 */
    int64_t start;
    struct process *next;
};
struct process *who_is(pid_t thread);        /* valid until the next call; NULL when it is gone */
long long inside_of(long long outside);
void find_origin(struct process *process);
void follow_program(struct process *process); /* it starts a program: tell when it ends */
void program_began(pid_t thread);            /* the program that it had started runs now */
void process_ended(struct process *process);
size_t command_line(pid_t process, char *into, size_t size);

/* guard_records.c: bounded, batched, repeated records counted */
struct record {
    char bytes[MAX_ARGUMENT_BYTES + 4 * PATH_MAX];
    size_t size;
};
int64_t clock_ns(int clock);
void begin(struct record *record, const char *kind);
void add_word(struct record *record, const char *word);
void add_number(struct record *record, long long value);
void add_words(struct record *record, const char *words, size_t size);
void tell(const struct record *record);
void tell_counted(const struct record *record);
void tell_repeats(void);
int records_are_many(void);                  /* so many wait that nothing more should be looked at */
int records_wait_ms(void);                   /* how long until something has to be written; -1: nothing waits */
void write_records(int now);
void hurry(void);                            /* write as soon as the call is answered */

/* guard_attempts.c, guard_network.c, guard_files.c, guard_signals.c: the rules; each gives an answer */
void tell_attempt(const struct stopped *stopped, const char *code, const char *detail, const char *path,
                  const char *address, int allowed, int error);
int decide(const struct stopped *stopped);
int decide_file(const struct stopped *stopped);
int decide_network(const struct stopped *stopped);
int decide_signal(const struct stopped *stopped);
int decide_privilege(const struct stopped *stopped);

/* guard_hold.c */
extern int holding, parked;
#define UNTOLD (-1)
int keep_held(const struct stopped *stopped, long long program); /* HELD or, of too many, an error number */
void let_go(void);                           /* the changes */
void allow_programs(long long programs);     /* those with numbers up to this one */
void park(void);
int answer(uint64_t id, int error);

#endif
