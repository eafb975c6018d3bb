/* The rules about programs: a program that starts is recorded with its arguments and, if it is a script, with its
 * text; so is one that does not exist.
 *
 * A search along PATH tries many files that do not exist. So the first of them waits with its process: it is recorded
 * when that ends, starts something else or looks for something else, and is forgotten when the search succeeds.
 */
#include "guard.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPTS 16 /* that one program may be given */
#define EXECVE_CHECK 0x10000 /* AT_EXECVE_CHECK, which older headers lack */

static long long programs; /* how many were told */

/* The error of a program that cannot start, such as most of those that a search along PATH tries; 0: it may start. The
 * guard gives the error itself, so that no process can show it an absent program and the kernel a real one. */
static int cannot_start(const struct place *place)
{
    if (place->by_descriptor || is_within(place->real, "/proc") || is_within(place->real, "/dev"))
        return 0;
    if (place->absent)
        return ENOENT;
    return place->mode && (!S_ISREG(place->mode) || !(place->mode & 0111)) ? EACCES : 0;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The name by which an absent program that waits was looked for; it is the last part of the sixth word. */
static const char *name_of(const struct record *absent)
{
    const char *word = absent->bytes;
    for (int i = 0; i < 5; i++)
        word += strlen(word) + 1;
    return last_name(word);
}

void tell_absent(struct process *process)
{
    if (process->absent) {
        tell_counted(process->absent);
        free(process->absent);
        process->absent = NULL;
    }
}

/* A program is looked for, found or not: what had waited under another name was not found; what had under this one, no
 * matter. */
static void look_for(struct process *process, const char *name)
{
    if (!process->absent)
        return;
    if (!*name || strcmp(name_of(process->absent), name)) { /* a path that ends in a slash has no name */
        tell_absent(process);
    } else {
        free(process->absent);
        process->absent = NULL;
    }
}

static void keep_absent(const struct stopped *stopped, const struct place *place, struct process *process,
                        const char *words, size_t size, int error)
{
    find_origin(process);
    process = follow(process);
    struct record *record = malloc(sizeof *record);
    if (!record)
        return;
    begin_attempt(record, stopped, "absent-program", error == ENOENT ? "not there" : "no program", place->claimed, "", 0,
                  error);
    add_words(record, words, size);
    if (process) {
        look_for(process, last_name(place->claimed));
        process->absent = record;
        return;
    }
    tell_counted(record);
    free(record);
}

/* Whether a program has one of the names, which a version may follow. */
static int is_one_of(const char *program, const char *const names[], size_t count)
{
    const char *name = last_name(program);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]);
        if (!strncmp(name, names[i], size) && !name[size + strspn(name + size, "0123456789.")])
            return 1;
    }
    return 0;
}

static int runs_scripts(const char *program)
{
    static const char *const names[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", "python", "pypy",
                                        "node", "deno", "bun", "perl", "ruby", "php", "lua"};
    return is_one_of(program, names, sizeof names / sizeof *names);
}

/* Whether its first argument may be the name of a command, and the script comes after it. */
static int has_commands(const char *program)
{
    static const char *const names[] = {"busybox", "deno", "bun"};
    return is_one_of(program, names, sizeof names / sizeof *names);
}

/* Whether a file was last changed before the guard began. No process can set that time. */
static int is_older(const struct stat *information)
{
    int64_t changed = information->st_ctim.tv_sec * 1000000000LL + information->st_ctim.tv_nsec;
    return changed < plan.start;
}

/* What is sent of a script: all of it; a part of one that is older than the sandbox, so that no process in it has written
 * to it, or of another one; or nothing, since it cannot be read. */
static const char *const states[] = {"whole", "old", "cut", "unread"};
enum { WHOLE, OLD, CUT, UNREAD };

static void send_text(long long pid, const char *path, int state, long long size, const char *text, size_t length)
{
    static struct record record;
    begin(&record, "script");
    add_number(&record, pid);
    add_word(&record, path);
    add_word(&record, states[state]);
    add_number(&record, size);
    add_words(&record, text, length);
    add_words(&record, "", 1);
    tell(&record);
}

/* Takes the NULs out, as shells do when they read a script; how much is left. */
static size_t without_nuls(char *text, size_t size)
{
    size_t kept = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i])
            text[kept++] = text[i];
    return kept;
}

/* Sends the text of a file below a writable place, since the file may be gone when the harness looks for it. */
static void tell_text(const struct stopped *stopped, const struct place *place)
{
    static char text[MAX_SCRIPT_BYTES];
    struct stat information = {0};
    struct process *process = who_is(stopped->thread);
    if (!process || !is_writable(place->real) || (place->mode && !S_ISREG(place->mode)))
        return;
    int fd = open_to_read(place->real);
    ssize_t size = fd < 0 || fstat(fd, &information) < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    if (size >= SELFMAG && !memcmp(text, ELFMAG, SELFMAG))
        return; /* a program, not a script */
    int state = size < 0 ? UNREAD : information.st_size <= size ? WHOLE : is_older(&information) ? OLD : CUT;
    if (size)
        send_text(process->inside, place->real, state, information.st_size, text, size < 0 ? 0 : without_nuls(text, size));
}

/* How many words that are no options may follow an option as its values; one letter of it may ask for each. */
static size_t values_of(const char *option)
{
    return option[1] == '-' ? strchr(option, '=') || !option[2] ? 0 : 1 : strlen(option) - 1;
}

/* A script is the program itself, or an argument. The first argument that is neither an option nor may be the value of one
 * is it, if it is a file; files among those before it may be. */
static void tell_script(const struct stopped *stopped, const struct place *program, const char *words, size_t size)
{
    static struct place place;
    struct process *process = who_is(stopped->thread);
    if (is_writable(program->real)) {
        if (!program->head_read || memcmp(program->head, ELFMAG, SELFMAG))
            tell_text(stopped, program);
        return;
    }
    if (!runs_scripts(program->real))
        return;
    size_t values = has_commands(program->real);
    int files = 0;
    for (size_t at = strlen(words) + 1; at < size; at += strlen(words + at) + 1) {
        const char *word = words + at;
        if ((*word == '-' || *word == '+') && word[1]) {
            values += values_of(word);
            continue;
        }
        place.mode = 0;
        int found = *word && strlen(word) < PATH_MAX ? find_file(stopped, word, &place) : 0;
        if (found < 0 || (S_ISREG(place.mode) && files++ == MAX_SCRIPTS)) {
            send_text(process ? process->inside : 0, found < 0 ? word : place.real, UNREAD, 0, "", 0);
            return;
        }
        if (S_ISREG(place.mode)) {
            tell_text(stopped, &place);
            if (!values)
                return;
        }
        values -= values > 0;
    }
}

static void tell_program(const struct stopped *stopped, const char *path, const struct process *process,
                         const char *words, size_t size, int cut)
{
    static struct record record;
    char directory[PATH_MAX];
    if (where_it_works(stopped->thread, directory) < 0)
        *directory = 0;
    begin(&record, "exec");
    add_number(&record, process->inside);
    add_number(&record, inside_of(process->parent_outside));
    add_number(&record, process->origin);
    add_word(&record, path);
    add_word(&record, directory);
    add_number(&record, 1);
    add_number(&record, cut);
    add_words(&record, words, size);
    tell(&record);
    programs++;
}

void tell_began(const struct stopped *stopped, struct process *process, const char *path, const char *words,
                size_t size, int cut)
{
    static struct place place;
    strcpy(place.real, path);
    place.mode = 0;
    begin_paths();
    if (size)
        tell_script(stopped, &place, words, size);
    tell_program(stopped, path, process, words, size, cut);
    hurry();
}

/* Whether execveat would start nothing: it only asks whether that is allowed. */
static int only_asks(const struct stopped *stopped)
{
    return stopped->call->directory >= 0 && stopped->arguments[4] & EXECVE_CHECK;
}

int decide_execute(const struct stopped *stopped)
{
    static struct place place;
    static char words[MAX_ARGUMENT_BYTES];
    size_t whole;
    if (only_asks(stopped))
        return 0;
    if (parked && programs >= plan.programs)
        return ERESTARTNOINTR; /* it would be held, and is recorded when it is */
    if (programs > plan.programs)
        return keep_held(stopped, UNTOLD);
    int error = locate(stopped, stopped->call->directory, stopped->call->path, FOLLOW | CLOSELY, &place);
    if (error)
        return error;
    ssize_t size = read_arguments(stopped->thread, stopped->arguments[(int)stopped->call->extra], words, &whole);
    if (size < 0)
        return refuse_unreadable(stopped, "arguments", EFAULT);
    struct process *process = who_is(stopped->thread);
    if (!process)
        return refuse_unreadable(stopped, "process", EAGAIN);
    error = cannot_start(&place);
    if (error) {
        keep_absent(stopped, &place, process, words, size, error);
        return error;
    }
    find_origin(process);
    process = follow_program(process);
    if (!process) /* what really begins could not be looked up */
        return refuse_unreadable(stopped, "process", EAGAIN);
    if (size)
        tell_script(stopped, &place, words, size);
    tell_program(stopped, place.real, process, words, size, whole < (size_t)size);
    look_for(process, last_name(place.claimed));
    claim_program(stopped, process, &place, words, whole, whole == (size_t)size);
    if (programs <= plan.programs)
        return 0;
    hurry();
    return keep_held(stopped, programs);
}
