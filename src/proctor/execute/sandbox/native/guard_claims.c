/* Compares what a process said that it would start with what really began.
 *
 * The guard reads path and arguments before the kernel does, and a process that shares the memory can change them in
 * between; so can links and files. So each start leaves a claim with its process: the file that must run then and the
 * arguments that it must have. The kernel shows both in /proc as soon as the program has begun. That is looked up once,
 * at the first watched call of the program: every libc makes one before anything else, and no other program's code has
 * run by then. A program without a libc that makes none is looked for after a while. Threads of one process may start
 * programs at the same time, and the kernel lets one of them succeed: each has a claim of its own.
 *
 * What differs is recorded as a program of its own, with what really began. It is an attempt, `program-changed`, only
 * where it is certain what should have begun: the file was a program of this machine, or a script whose interpreters are
 * known. A file that was renamed or deleted meanwhile, or arguments that a program may have changed itself, are none.
 *
 * Whether a program has begun at all is seen from where its stack begins, which is chosen at random: a start can fail, and
 * then it is the one from before. Where the layout of memory was not random, file and arguments are compared as well.
 */
#include "guard.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_INTERPRETERS 6  /* the kernel takes five */
#define MAX_CLAIMS 16       /* of one process */
#define FRONT_BYTES (MAX_INTERPRETERS * HEAD_BYTES + PATH_MAX + 32)
#define FIRST_LOOK_NS 10000000LL
#define PATIENCE_NS 1000000000LL
#define LAST_LOOK_NS 10000000000LL
#define DELETED " (deleted)"
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

struct claim {
    pid_t thread;               /* which made the call */
    int fixed;                  /* the layout of memory may not be random: then what ran until then is known, */
    struct file before;         /* its file and */
    uint64_t before_words;      /* its arguments */
    struct file wanted;         /* what must run then */
    int certain;                /* nothing else can */
    int whole;                  /* `size` bytes are all arguments; else they have only to begin so */
    size_t size;
    uint64_t words;
    int64_t next, wait;         /* when to look, and how long to wait after that */
    struct claim *older;        /* of another thread: whichever start succeeds ends the other threads */
    char *called, path[];       /* as it was recorded; the path of what must run */
};

static int fixed_layouts, claims;
static int64_t due = INT64_MAX;
static char real_words[MAX_ARGUMENT_BYTES + FRONT_BYTES];

/* Which arguments were claimed is kept as a number. It comes from a secret one, so that no process can find other
 * arguments with the same. */
static uint64_t digest(uint64_t from, const char *bytes, size_t size)
{
    const uint64_t prime = (1ULL << 61) - 1;
    static uint64_t secret;
    while (secret < 1 << 16)
        if (getrandom(&secret, sizeof secret, 0) == sizeof secret)
            secret %= prime;
    for (size_t i = 0; i < size; i++)
        from = ((unsigned __int128)from * secret + (unsigned char)bytes[i] + 1) % prime;
    return from;
}

/* The file that a process runs; -1 with errno. */
static int running_file(pid_t process, struct file *file)
{
    char link[64];
    struct stat information;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
    if (stat(link, &information) < 0)
        return -1;
    *file = (struct file){information.st_dev, information.st_ino, information.st_nlink};
    return 0;
}

/* Its path, without what the kernel adds where it has no name any more; then *deleted. -1 where there is none. */
static int running_path(pid_t process, char into[PATH_MAX], int *deleted)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
    ssize_t size = readlink(link, into, PATH_MAX - 1), mark = strlen(DELETED);
    *deleted = size > mark && !memcmp(into + size - mark, DELETED, mark);
    into[size < 0 ? 0 : *deleted ? size - mark : size] = 0;
    return size < 0 ? -1 : 0;
}

/* The arguments of a process in `real_words`, as many as fit; 0 where it has none (yet). */
static size_t running_words(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, real_words, sizeof real_words);
    if (fd >= 0)
        close(fd);
    return size < 0 ? 0 : size;
}

static int is_blank(char character) { return character == ' ' || character == '\t'; }

/* The first line of a script as the kernel reads it: the interpreter, and one argument or NULL. 0: it has none. */
static int read_first_line(char head[HEAD_BYTES], char **interpreter, char **argument)
{
    char *end = memchr(head, '\n', HEAD_BYTES), *limit = head + HEAD_BYTES - 1, *name = head + 2;
    if (strncmp(head, "#!", 2))
        return 0;
    end = end ? end : limit;
    while (end > name && is_blank(end[-1]))
        end--;
    while (name < end && is_blank(*name))
        name++;
    char *after = name;
    while (after < end && *after && !is_blank(*after))
        after++;
    if (after == name || after == limit)
        return 0;
    *interpreter = name;
    *argument = NULL;
    *end = 0;
    if (*after) {
        *after++ = 0;
        while (after < end && is_blank(*after))
            after++;
        *argument = after < end ? after : NULL;
    }
    return 1;
}

/* The name that a script is started with by its interpreter. */
static void name_script(const struct stopped *stopped, const struct place *place, char into[PATH_MAX + 32])
{
    int directory = stopped->call->directory < 0 ? AT_FDCWD : (int)stopped->arguments[(int)stopped->call->directory];
    if (directory == AT_FDCWD || *place->given == '/')
        snprintf(into, PATH_MAX + 32, "%s", place->given);
    else
        snprintf(into, PATH_MAX + 32, "/dev/fd/%d%s%s", directory, *place->given ? "/" : "", place->given);
}

/* Puts a word before those that end where `*start` ends. */
static void put_before(char **start, const char *word)
{
    size_t size = strlen(word) + 1;
    *start -= size;
    memcpy(*start, word, size);
}

static int is_native(const char head[HEAD_BYTES])
{
    Elf64_Ehdr header;
    memcpy(&header, head, sizeof header);
    return !memcmp(head, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == MACHINE;
}

/* What runs once `program` has begun, in `last`, and the words that come before its arguments but the first, which a
 * script loses, from `*start` on up to `end`. 1 when that is certain. */
static int follow_interpreters(const struct stopped *stopped, const struct place *program, struct place *last,
                               char **start)
{
    char name[PATH_MAX + 32], *interpreter, *argument;
    name_script(stopped, program, name);
    *last = *program;
    for (int i = 0; i < MAX_INTERPRETERS; i++) {
        if (!last->head_read)
            return 0;
        if (!read_first_line(last->head, &interpreter, &argument))
            return is_native(last->head);
        if (!i)
            put_before(start, name);
        if (argument)
            put_before(start, argument);
        put_before(start, interpreter);
        if (find_file(stopped, interpreter, last) < 0)
            return 0;
    }
    return 0;
}

/* Forgets what `thread` of a process claimed; 0: what any of them did. */
static void drop(struct process *process, pid_t thread)
{
    for (struct claim **link = &process->claim; *link;) {
        struct claim *claim = *link;
        if (thread && claim->thread != thread) {
            link = &claim->older;
            continue;
        }
        *link = claim->older;
        free(claim->called);
        free(claim);
        claims--;
    }
}

void forget_claim(struct process *process) { drop(process, 0); }

/* Adds a claim, and forgets the oldest of too many: their threads have ended. */
static void add_claim(struct process *process, struct claim *claim)
{
    claim->older = process->claim;
    process->claim = claim;
    claims++;
    for (int i = 0; claim; i++, claim = claim->older)
        if (i == MAX_CLAIMS) {
            drop(process, claim->thread);
            return;
        }
}

void claim_program(const struct stopped *stopped, struct process *process, const struct place *place,
                   const char *words, size_t size, int whole)
{
    static struct place last;
    char front[FRONT_BYTES], *start = front + sizeof front;
    int certain = follow_interpreters(stopped, place, &last, &start);
    size_t before = front + sizeof front - start, first = strnlen(words, size), lost = 0;
    if (before)
        lost = first < size ? first + 1 : size; /* the first argument may have been cut */
    drop(process, stopped->thread);
    struct claim *claim = malloc(sizeof *claim + strlen(last.real) + 1);
    char *called = strdup(place->real);
    if (!claim || !called) {
        free(claim);
        free(called);
        return;
    }
    *claim = (struct claim){
        .thread = stopped->thread,
        .fixed = fixed_layouts,
        .wanted = last.file,
        .certain = certain && last.file.number,
        .whole = whole,
        .size = before + size - lost,
        .words = digest(digest(0, start, before), words + lost, size - lost),
        .next = clock_ns(CLOCK_MONOTONIC) + FIRST_LOOK_NS,
        .wait = FIRST_LOOK_NS,
        .called = called,
    };
    strcpy(claim->path, last.real);
    if (fixed_layouts) {
        if (running_file(process->outside, &claim->before) < 0)
            claim->before = (struct file){0};
        claim->before_words = digest(0, real_words, running_words(process->outside));
    }
    uint64_t stack = stack_of(process->outside);
    if (!still_waits(stopped->id)) { /* another thread's start may have ended this one: what was read is of that */
        free(called);
        free(claim);
        return;
    }
    process->stack = stack;
    add_claim(process, claim);
    if (claim->next < due)
        due = claim->next;
}

static int has_words(const struct claim *claim, size_t size)
{
    if (!claim->size)
        return size <= 1; /* the kernel adds an empty one */
    return size >= claim->size && (!claim->whole || size == claim->size) &&
           digest(0, real_words, claim->size) == claim->words;
}

/* Records what really began, and that it is not what was claimed. */
static void tell_real(struct process *process, const struct claim *claim, const char *path, size_t size, int same)
{
    static const struct call row = {.name = "execve", .directory = -1};
    static const uint64_t arguments[6];
    char detail[PATH_MAX + 32];
    struct stopped stopped = {0, process->outside, &row, arguments};
    int cut = size == sizeof real_words;
    if (size && real_words[size - 1])
        real_words[cut ? size - 1 : size++] = 0;
    if (*path)
        tell_began(&stopped, process, path, real_words, size, cut);
    if (!claim->certain)
        return;
    snprintf(detail, sizeof detail, same ? "with other arguments" : "started as %s", claim->called);
    tell_attempt(&stopped, "program-changed", detail, path, "", 1, 0);
}

/* At which moment is looked: at the first call of a libc; at one that loads a library, if the guard is asked about those;
 * at a later call; or without a call. Up to the second, no code of the program has run. */
enum { FIRST, LOADING, LATER, UNASKED };

static int moment_of(const struct stopped *stopped)
{
    if (!stopped || (stopped->call->rule != BEGIN && stopped->call->rule != OPEN))
        return LATER;
    return stopped->call->rule == BEGIN ? FIRST : plan.reads || plan.all_reads || plan.secret_count ? LOADING : LATER;
}

/* What a process runs. Its arguments are in `real_words`. */
struct running {
    uint64_t stack;
    struct file file;
    int hidden;                 /* the process cannot be looked into */
    int found, deleted;         /* the file has a path; it has no name any more */
    size_t size;                /* of the arguments */
    char path[PATH_MAX];
};

/* -1: it has ended. The stack is read first: the kernel sets it last, so what is read after it belongs to it. */
static int look_into(const struct process *process, struct running *now)
{
    now->stack = stack_of(process->outside);
    now->file = (struct file){0};
    now->hidden = running_file(process->outside, &now->file) < 0;
    if (now->hidden && errno != EACCES && errno != EPERM)
        return -1;
    now->found = running_path(process->outside, now->path, &now->deleted) == 0;
    now->size = running_words(process->outside);
    return 0;
}

/* Whether this is no longer what ran before the start. */
static int has_begun(const struct process *process, const struct running *now)
{
    const struct claim *claim = process->claim;
    if (process->stack && now->stack != process->stack)
        return 1;
    return claim->fixed && (!same_file(now->file, claim->before) ||
                            digest(0, real_words, now->size) != claim->before_words);
}

/* Whether what ran before may have changed its own arguments instead. */
static int may_be_before(const struct process *process, const struct running *now)
{
    return now->stack == process->stack && same_file(now->file, process->claim->before);
}

static int is_same(const struct claim *claim, const struct running *now)
{
    return !now->hidden && same_file(now->file, claim->wanted);
}

static int is_named(const struct claim *claim, const struct running *now)
{
    return now->found && !strcmp(now->path, claim->path);
}

static int fits(const struct claim *claim, const struct running *now)
{
    int nameless = now->file.names == 1 || now->deleted || !now->found; /* it has no second name to be known by */
    return has_words(claim, now->size) && (is_named(claim, now) || (is_same(claim, now) && nameless));
}

/* Whether it is certainly gone, so that what was read may be another process's. */
static int is_gone(const struct process *process)
{
    struct file file;
    if (running_file(process->outside, &file) < 0 && errno != EACCES && errno != EPERM)
        return 1;
    return syscall(SYS_pidfd_send_signal, process->handle, 0, NULL, 0) < 0 && errno == ESRCH;
}

/* Whether a program that has begun runs by now: what it shows of itself is then what it wants to show. */
static int can_run(const struct claim *claim, const struct stopped *stopped)
{
    return stopped ? still_waits(stopped->id) : claim->wait >= PATIENCE_NS;
}

static void settle(struct process *process, uint64_t stack)
{
    process->stack = stack;
    drop(process, 0);
}

/* Looks whether something that `process` was to start has begun, and then whether it is that. 0: it has not begun.
 * `stopped` is a call of its first thread, or NULL. */
static int compare(struct process *process, int moment, const struct stopped *stopped)
{
    static struct running now;
    struct claim *claim = process->claim, *fitting = claim;
    if (look_into(process, &now) < 0 || (!has_begun(process, &now) && !(moment == FIRST && claim->fixed)))
        return 0;
    if (!now.hidden && (!now.stack || (!now.size && claim->size && !can_run(claim, stopped))))
        return 0; /* it has begun, but so little that its arguments are not there yet */
    while (fitting && !fits(fitting, &now))
        fitting = fitting->older;
    if (fitting) {
        settle(process, now.stack);
        return 1;
    }
    int same = is_same(claim, &now) || is_named(claim, &now), right = has_words(claim, now.size);
    if (is_gone(process))
        return 0;
    if (moment == UNASKED && (now.hidden || (same && !right && claim->wait < PATIENCE_NS)))
        return 0; /* its first call, when it is certain that the program did not do that itself, may be yet to come */
    claim->certain &= moment <= LOADING ? !same || !right : !now.hidden && !same;
    claim->certain &= moment == FIRST || !may_be_before(process, &now);
    process->claim = NULL; /* what is recorded now looks at the process as well */
    tell_real(process, claim, now.hidden ? "" : now.path, now.hidden ? 0 : now.size, same);
    process->claim = claim;
    settle(process, now.stack);
    return 1;
}

void look_at_claim(struct process *process, pid_t thread, const struct stopped *stopped)
{
    if (process && process->claim && !compare(process, moment_of(stopped), stopped))
        drop(process, thread); /* it goes on where it was: its start has failed */
}

int claims_wait_ms(void)
{
    if (!claims)
        return -1;
    int64_t left = due - clock_ns(CLOCK_MONOTONIC);
    return left <= 0 ? 0 : left / 1000000 + 1;
}

static void look_again(struct process *process)
{
    struct claim *claim = process->claim;
    if (!claim)
        return;
    if (claim->next <= clock_ns(CLOCK_MONOTONIC)) {
        if (compare(process, UNASKED, NULL))
            return;
        claim->wait = claim->wait < LAST_LOOK_NS ? 2 * claim->wait : claim->wait;
        claim->next = clock_ns(CLOCK_MONOTONIC) + claim->wait;
    }
    if (claim->next < due)
        due = claim->next;
}

void look_at_claims(void)
{
    if (!claims || due > clock_ns(CLOCK_MONOTONIC))
        return;
    due = INT64_MAX;
    each_followed(look_again);
}

void layout_is_fixed(void) { fixed_layouts = 1; }

/* Whether the kernel, or the harness, has turned randomness off already. */
void look_at_layouts(void)
{
    char text[8] = "";
    int fd = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            *text = 0;
        close(fd);
    }
    fixed_layouts = *text == '0' || personality(0xffffffff) & ADDR_NO_RANDOMIZE;
}
