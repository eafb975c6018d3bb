/* Finds out where a path of a stopped call leads.
 *
 * Links are followed inside the sandbox's own root by the kernel itself (openat2, RESOLVE_IN_ROOT), so nothing that a
 * process in there makes can lead the guard anywhere else. Magic links of /proc are not followed. Nothing is opened but
 * as O_PATH, so no device, no pipe and no lock can hold the guard up.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_LINKS 16

int open_sandbox(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", (int)plan.init);
    plan.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (plan.root < 0)
        return -1;
    plan.proc = openat(plan.root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return plan.proc < 0 ? -1 : 0;
}

int is_within(const char *path, const char *top)
{
    size_t size = strlen(top);
    return !strncmp(path, top, size) && (!path[size] || path[size] == '/');
}

int is_writable(const char *path)
{
    for (int i = 0; i < plan.writable_count; i++)
        if (is_within(path, plan.writable[i]))
            return 1;
    return 0;
}

const char *proc_part(const char *path, long long *pid)
{
    if (strncmp(path, "/proc/", 6))
        return NULL;
    const char *end = path + 6;
    for (*pid = 0; *end >= '0' && *end <= '9' && end - path < 20; end++)
        *pid = *pid * 10 + (*end - '0');
    return end > path + 6 && (!*end || *end == '/') ? end : NULL;
}

static int open_inside(const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT | resolve};
    int fd = -1;
    for (int tries = 0; tries < 4; tries++) {
        fd = syscall(SYS_openat2, plan.root, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd;
}

/* The path of a link of /proc, without a NUL in the middle; -1 when there is none. */
static int read_link(const char *link, char into[PATH_MAX])
{
    ssize_t size = readlink(link, into, PATH_MAX - 1);
    if (size < 0)
        return -1;
    into[size] = 0;
    return 0;
}

/* Takes away empty components, `.` and `..` by their text alone. */
static void normalise(const char *path, char into[PATH_MAX])
{
    size_t used = 0;
    for (const char *start = path; *start;) {
        size_t size = strcspn(start, "/");
        if (size == 2 && start[0] == '.' && start[1] == '.') {
            while (used && into[--used] != '/')
                ;
        } else if (size && !(size == 1 && start[0] == '.') && used + size + 2 < PATH_MAX) {
            into[used++] = '/';
            memcpy(into + used, start, size);
            used += size;
        }
        start += size + (start[size] == '/');
    }
    if (!used)
        into[used++] = '/';
    into[used] = 0;
}

/* `directory` and `path` put together, unless `path` is absolute. */
static void join(const char *directory, const char *path, char into[PATH_MAX])
{
    if (*path == '/' || snprintf(into, PATH_MAX, "%s/%s", directory, path) >= PATH_MAX)
        snprintf(into, PATH_MAX, "%s", path);
}

static int where_is(int fd, struct place *place)
{
    char link[64];
    struct stat information;
    struct statvfs system;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int result = read_link(link, place->real);
    place->mode = !result && !fstat(fd, &information) ? information.st_mode : 0;
    place->read_only = !fstatvfs(fd, &system) && system.f_flag & ST_RDONLY;
    close(fd);
    return result;
}

/* The place of something that is not there (yet): its directory, and its name. 1 when `path` was a dangling link, whose
 * target is then in `path`. */
static int where_would_be(char path[PATH_MAX], int follow, struct place *place)
{
    char leaf[PATH_MAX], target[PATH_MAX];
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        path[--size] = 0;
    char *slash = strrchr(path, '/');
    snprintf(leaf, sizeof leaf, "%s", slash ? slash + 1 : path);
    if (slash)
        slash[slash == path] = 0;
    int fd = open_inside(slash ? path : "/", O_DIRECTORY, 0);
    place->absent = fd >= 0 || errno == ENOENT;
    if (fd < 0) {
        char whole[PATH_MAX];
        join(path, leaf, whole);
        normalise(whole, place->real);
        place->missing_parent = 1;
        return 0;
    }
    ssize_t length = follow ? readlinkat(fd, leaf, target, sizeof target - 1) : -1;
    if (where_is(fd, place) < 0)
        return 0;
    place->mode = 0;
    if (length > 0) {
        target[length] = 0;
        join(place->real, target, path);
        return 1;
    }
    join(strcmp(place->real, "/") ? place->real : "", leaf, path);
    normalise(path, place->real);
    return 0;
}

static void resolve(struct place *place, int follow)
{
    char path[PATH_MAX];
    strcpy(path, place->claimed);
    for (int links = 0; links < MAX_LINKS; links++) {
        int fd = open_inside(path, follow ? 0 : O_NOFOLLOW, 0);
        place->absent = 0;
        if (fd >= 0) {
            if (where_is(fd, place) < 0)
                normalise(path, place->real);
            return;
        }
        if (errno != ENOENT) {
            normalise(path, place->real);
            return;
        }
        if (!where_would_be(path, follow, place))
            return;
    }
    normalise(path, place->real);
}

/* What /proc/self and /proc/thread-self mean to the process that says it. */
static void replace_self(const struct stopped *stopped, char path[PATH_MAX])
{
    const char *names[] = {"/proc/self", "/proc/thread-self"};
    for (int i = 0; i < 2; i++) {
        if (!is_within(path, names[i]))
            continue;
        struct process *process = who_is(stopped->thread);
        char changed[PATH_MAX];
        if (process && snprintf(changed, sizeof changed, "/proc/%lld%s", process->inside, path + strlen(names[i])) <
                           (int)sizeof changed)
            strcpy(path, changed);
        return;
    }
}

/* The root, directory and open files of the process itself by their names in /proc: the kernel follows those links, and
 * openat2 would not. */
static void follow_own(const struct stopped *stopped, char path[PATH_MAX])
{
    char link[PATH_MAX], target[PATH_MAX];
    long long pid;
    const char *part = proc_part(path, &pid);
    struct process *process = part ? who_is(stopped->thread) : NULL;
    if (!process || process->inside != pid)
        return;
    if (!strncmp(part, "/task/", 6))
        part += 6 + strspn(part + 6, "0123456789");
    size_t size = is_within(part, "/root") ? 5 : is_within(part, "/cwd") ? 4 : 0;
    if (!size && !strncmp(part, "/fd/", 4))
        size = 4 + strspn(part + 4, "0123456789");
    if (!size || (part[size] && part[size] != '/'))
        return;
    snprintf(link, sizeof link, "/proc/%d%.*s", (int)stopped->thread, (int)size, part);
    if (read_link(link, target) < 0 || *target != '/' || !strncmp(target, "/memfd:", 7))
        return;
    if (snprintf(link, sizeof link, "%s%s", strcmp(target, "/") || !part[size] ? target : "", part + size) <
        (int)sizeof link)
        strcpy(path, link);
}

/* Most of what is asked about is a plain path below a writable place: then it is enough to know that no link is on the
 * way, which takes one call or none. What there is at its end is not found out. 0: a closer look is needed. */
static int is_plain(struct place *place, const char *base, const char *text, int how)
{
    if (how & CLOSELY || holding)
        return 0;
    int given = !*text || (!(how & FOLLOW) && !strchr(text, '/') && strcmp(text, ".") && strcmp(text, ".."));
    normalise(place->claimed, place->real);
    if (!is_writable(place->real) && !(how & READING))
        return 0;
    if (how & READING && (is_within(place->real, "/proc") || is_within(place->real, "/dev") ||
                          (plan.reads && plan.held && is_within(place->real, plan.held))))
        return 0;
    if (given && *base == '/' && is_writable(base))
        return 1; /* the kernel's own name of an open directory has no links in it */
    int fd = open_inside(place->claimed, how & FOLLOW ? 0 : O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == ENOENT;
}

int locate(const struct stopped *stopped, int directory, int path, int how, struct place *place)
{
    char text[PATH_MAX], base[PATH_MAX], link[64];
    *text = *base = 0;
    int handle = directory < 0 ? AT_FDCWD : (int)stopped->arguments[directory];
    place->mode = place->missing_parent = place->read_only = place->absent = place->by_descriptor = 0;
    if (path >= 0 && stopped->arguments[path] &&
        read_text(stopped->thread, stopped->arguments[path], text, sizeof text) < 0)
        return -1; /* a bad pointer: the kernel will say so */
    if (*text != '/') {
        if (handle == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/%d/cwd", (int)stopped->thread);
        else
            snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)stopped->thread, handle);
        if (read_link(link, base) < 0 || strlen(base) + strlen(text) + 2 > sizeof base) {
            if (!strstr(text, ".."))
                return -1;
            *base = 0; /* from deep below up to somewhere: taken as from the root */
        }
    }
    place->by_descriptor = !*text;
    if (*text)
        join(base, text, place->claimed);
    else
        strcpy(place->claimed, base);
    if (!strcmp(place->claimed, "/dev/null")) { /* the most common of all */
        strcpy(place->real, place->claimed);
        place->mode = S_IFCHR;
        return 0;
    }
    replace_self(stopped, place->claimed);
    follow_own(stopped, place->claimed);
    if (*place->claimed != '/' || (place->by_descriptor && !strncmp(base, "/memfd:", 7))) { /* no file on a disk */
        strcpy(place->real, place->claimed);
        place->mode = S_IFIFO;
        return 0;
    }
    if (!is_plain(place, base, text, how))
        resolve(place, how & FOLLOW);
    return 0;
}
