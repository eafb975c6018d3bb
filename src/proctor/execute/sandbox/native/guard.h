/* What the parts of the guard share: the call that is being looked at, processes, places, records. */
#ifndef PROCTOR_GUARD_H
#define PROCTOR_GUARD_H

#include "calls.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_PLACES 256
#define MAX_ARGUMENT_BYTES (192 << 10)      /* the kernel takes 128 KiB for one argument */
#define MAX_ARGUMENTS 16384
#define MAX_SCRIPT_BYTES (256 << 10)
#define MAX_SECRETS 16
#define HEAD_BYTES 256                      /* what the kernel reads of a file that starts */
#define ARGUMENTS_CUT "..."

struct file {
    uint64_t device, number, names;          /* all 0: not known */
};
static inline int same_file(struct file one, struct file other)
{
    return one.device == other.device && one.number == other.number;
}

struct guard_plan {
    int listener, records, control, epoll;
    pid_t init;                              /* pid 1 of the sandbox, as seen from here */
    long long uid, gid, inside, file_bytes;  /* who to become; the uid and gid inside; the most that a file may hold */
    const char *writable[MAX_PLACES];
    int writable_count;
    const char *held;                        /* below this place the first change is held */
    int reads;                               /* record reads of files below `held` */
    int all_reads;                           /* record reads and listings anywhere */
    struct secret {
        const char *path;
        struct file file;
    } secrets[MAX_SECRETS];                  /* files of which each opening is an attempt, whatever its name is then */
    int secret_count;
    long long programs;                      /* so many may start before the harness has allowed more */
    int look;                                /* keep the privilege to look into processes */
    int root, proc;                          /* the sandbox's own / and /proc */
    int64_t start;                           /* when the guard began, by the clock of the files */
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
int read_memory(pid_t thread, uint64_t address, void *into, size_t size);    /* all of it: 0; or -1 */
struct iovec;
ssize_t read_pieces(pid_t thread, struct iovec *pieces, size_t count, void *into, size_t size); /* how much; or -1 */
ssize_t read_text(pid_t thread, uint64_t address, char *into, size_t size); /* its length; `size`: it is longer; or -1 */
/* Bytes of words, each ended by a NUL; or -1. Of too many, `*whole` are the first ones as they are, then comes a mark. */
ssize_t read_arguments(pid_t thread, uint64_t address, char *into, size_t *whole);

/* guard_places.c */
struct place {
    char given[PATH_MAX];                    /* as the process gave it */
    char claimed[PATH_MAX];                  /* as the process gave it, made absolute */
    char real[PATH_MAX];                     /* with links followed as far as that was possible */
    mode_t mode;                             /* 0: nothing is there, or nobody has looked */
    struct file file;
    int with_head, head_read;                /* its first bytes are wanted; they could be read */
    char head[HEAD_BYTES];                   /* filled up with zeros */
    int missing_parent, read_only;
    int absent;                              /* certainly nothing is there */
    int by_descriptor;                       /* no path was given: an open file */
};
enum {
    FOLLOW = 1,                              /* a link at the end */
    READING = 2,                             /* nothing will change */
    CLOSELY = 4,                             /* it will start */
    READS_TOO = 8,                           /* what is there already can be read as well */
    AS_ROOT = 16,                            /* the directory that the path starts from is its root */
};
int locate(const struct stopped *stopped, int directory, int path, int how, struct place *place); /* 0, or the answer */
void begin_paths(void);                      /* of another call: the names on the way of all its paths are limited */
int where_it_works(pid_t thread, char into[PATH_MAX]); /* its current directory */
int find_file(const struct stopped *stopped, const char *text, struct place *place); /* by a path in here; 0 or -1 */
int open_to_read(const char *path);          /* a file by the path that `locate` gave it; or -1 */
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
    uint64_t stack;                          /* where its stack begins, as of the program that runs now; 0: unknown */
    struct claim *claim;                     /* what it was to start last, until that is known to have begun; or NULL */
    int handle;                              /* a pidfd, or -1 */
    int64_t start;
    struct record *absent;                   /* a program that it looked for and that does not exist, or NULL */
    struct process *next;
};
struct process *who_is(pid_t thread);        /* valid until the next call; NULL when it is gone */
struct process *find_followed(pid_t outside); /* without a look into /proc; NULL when it is not followed */
long long inside_of(long long outside);
long long thread_inside(pid_t thread);       /* a thread's number; 0 when it is gone */
void find_origin(struct process *process);
struct process *follow(const struct process *process); /* until it ends; NULL when that is not possible */
struct process *follow_program(struct process *process); /* it starts a program: record when it ends */
void program_began(pid_t thread);            /* the program that it had started runs now */
void process_ended(struct process *process);
uint64_t stack_of(pid_t pid);                /* where the stack of a process begins; 0: that cannot be told */
void each_followed(void (*action)(struct process *process));
size_t command_line(pid_t process, char *into, size_t size);

/* guard_claims.c: what a process said that it starts, compared with what began */
void claim_program(const struct stopped *stopped, struct process *process, const struct place *place,
                   const char *words, size_t size, int whole);
void forget_claim(struct process *process);
/* `thread` of the process makes a call: `stopped`, or NULL if it is not the first thread. */
void look_at_claim(struct process *process, pid_t thread, const struct stopped *stopped);
void look_at_claims(void);                   /* of processes that make no calls */
int claims_wait_ms(void);                    /* how long until that has to be done; -1: there are none */
void layout_is_fixed(void);                  /* a process has turned the random layout of memory off */
void look_at_layouts(void);

/* guard_records.c: bounded, batched, repeated records counted */
struct record {
    char bytes[MAX_SCRIPT_BYTES + 4 * PATH_MAX]; /* the longest are the text of a script, and arguments */
    size_t size;
};
int64_t clock_ns(int clock);
void begin(struct record *record, const char *kind);
void add_word(struct record *record, const char *word);
void add_number(struct record *record, long long value);
void add_words(struct record *record, const char *words, size_t size);
void tell(const struct record *record);
void tell_counted(const struct record *record);
void tell_once(const struct record *record); /* the same without a limit: repeats are counted, nothing else is */
void tell_repeats(void);
int records_are_many(void);                  /* so many wait that nothing more should be looked at */
int records_wait_ms(void);                   /* how long until something has to be written; -1: nothing waits */
void write_records(int now);
void hurry(void);                            /* write as soon as the call is answered */

/* guard_programs.c */
void tell_absent(struct process *process);
void tell_began(const struct stopped *stopped, struct process *process, const char *path, const char *words,
                size_t size, int cut);       /* a program that began though another one was recorded */

/* guard_attempts.c, guard_network.c, guard_files.c, guard_programs.c, guard_signals.c, guard_limits.c: the rules; each
 * gives an answer */
void begin_attempt(struct record *record, const struct stopped *stopped, const char *code, const char *detail,
                   const char *path, const char *address, int allowed, int error);
void tell_attempt(const struct stopped *stopped, const char *code, const char *detail, const char *path,
                  const char *address, int allowed, int error);
int refuse_call(const struct stopped *stopped, const char *detail); /* as `syscall-KIND`; gives the error of the row */
int refuse_unreadable(const struct stopped *stopped, const char *what, int error); /* fails closed; gives `error` */
int decide(const struct stopped *stopped);
int decide_execute(const struct stopped *stopped);
int decide_file(const struct stopped *stopped);
int decide_made(const struct stopped *stopped, struct place *where); /* a file that a call also makes */
int decide_network(const struct stopped *stopped);
int decide_signal(const struct stopped *stopped);
int decide_privilege(const struct stopped *stopped);
int decide_limit(const struct stopped *stopped);   /* guard_limits.c */
int decide_schedule(const struct stopped *stopped);
long long behind_pidfd(const struct stopped *stopped); /* guard_signals.c: the process as seen from here; or 0 */
void tell_signal(const struct stopped *stopped, long long target, int number);

/* guard_hold.c */
extern int holding, parked;
#define UNTOLD (-1)
int keep_held(const struct stopped *stopped, long long program); /* HELD or, of too many, an error number */
void let_go(void);                           /* the changes */
void allow_programs(long long programs);     /* those with numbers up to this one */
void park(void);
int answer(uint64_t id, int error);
int still_waits(uint64_t id);                /* 0: its thread was killed, and the call never happens */

#endif
