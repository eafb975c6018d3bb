/* Finds out where a path of a stopped call leads.
 *
 * Links are followed inside the sandbox's own root, so nothing that a process in there makes can lead the guard anywhere
 * else. Nothing is opened but as O_PATH, and the regular files that are to start or to be sent, so no device, no pipe and
 * no lock can hold the guard up. A call whose path cannot be followed is refused and recorded.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_LINKS 40
#define MAX_REST (2 * PATH_MAX)
#define MAX_STEPS 4096 /* names on the way of all paths of one call: two paths of the longest kind */
#define STRIDE 256     /* directories that are climbed at once, */
#define STRIDE_STEPS 8 /* which takes as long as so many names */
#define MAX_STRIDES 300

static int steps;

void begin_paths(void) { steps = 0; }

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

/* Which files the secrets are, before any program has run inside. */
static int find_secrets(void)
{
    for (struct secret *secret = plan.secrets; secret < plan.secrets + plan.secret_count; secret++) {
        struct stat information;
        int fd = open_inside(secret->path, 0, RESOLVE_NO_SYMLINKS), known = fd >= 0 && fstat(fd, &information) == 0;
        if (fd >= 0)
            close(fd);
        if (!known)
            return -1;
        secret->file = (struct file){information.st_dev, information.st_ino, information.st_nlink};
    }
    return 0;
}

int open_sandbox(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", (int)plan.init);
    plan.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (plan.root < 0)
        return -1;
    plan.proc = openat(plan.root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return plan.proc < 0 ? -1 : find_secrets();
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
    if (*path == '/')
        directory = "";
    snprintf(into, PATH_MAX, "%s%s%s", directory, *directory ? "/" : "", path);
}

static int short_path_of(int fd, char into[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return read_link(link, into);
}

/* The directory so many above an open one, at most STRIDE. */
static int open_above(int fd, int count)
{
    char path[3 * STRIDE + 1] = "";
    for (int i = 0; i < count; i++)
        memcpy(path + 3 * i, "../", 4);
    return openat(fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The path of an open file. A path can be longer than PATH_MAX: of such a directory it is the path of the nearest one
 * above it that has a shorter one, followed by dots, with room for a name. -1 where there is none. */
static int path_of(int fd, char into[PATH_MAX])
{
    if (short_path_of(fd, into) == 0)
        return 0;
    int found = -1, stride = STRIDE;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < MAX_STRIDES && fd >= 0 && found < 0; i++) {
        int above = open_above(fd, stride);
        steps += STRIDE_STEPS;
        int fits = above >= 0 && short_path_of(above, into) == 0 && strlen(into) + NAME_MAX + 6 <= PATH_MAX;
        if (fits && stride > 1) { /* perhaps too far */
            stride /= 2;
            close(above);
            continue;
        }
        close(fd);
        fd = above;
        found = fits ? 0 : -1;
    }
    if (fd >= 0)
        close(fd);
    if (found == 0)
        strcat(into, "/...");
    return found;
}

int where_it_works(pid_t thread, char into[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)thread);
    int fd = open(link, O_PATH | O_CLOEXEC), found = fd < 0 ? -1 : path_of(fd, into);
    if (fd >= 0)
        close(fd);
    return found;
}

int open_to_read(const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
    return syscall(SYS_openat2, plan.root, path, &how, sizeof how);
}

/* The path of `name` in an open directory; of one that is too long, as much as there is. */
static int path_in(int directory, const char *name, char into[PATH_MAX])
{
    char path[PATH_MAX], whole[3 * PATH_MAX];
    if (path_of(directory, path) < 0)
        return -1;
    snprintf(whole, sizeof whole, "%s/%s", path, name);
    normalise(strlen(whole) < PATH_MAX ? whole : path, into);
    return 0;
}

/* The first bytes of a regular file that was opened as O_PATH. */
static int read_head(int fd, char head[HEAD_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    memset(head, 0, HEAD_BYTES);
    int again = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t size = again < 0 ? -1 : read(again, head, HEAD_BYTES);
    if (again >= 0)
        close(again);
    return size < 0 ? -1 : 0;
}

/* What is known of the open file `fd`, which is `name` in the directory `at`. */
static int where_is(int fd, int at, const char *name, struct place *place)
{
    struct stat information;
    struct statvfs system;
    if (path_of(fd, place->real) < 0 && (at < 0 || path_in(at, name, place->real) < 0))
        return -1;
    int known = fstat(fd, &information) == 0;
    place->mode = known ? information.st_mode : 0;
    place->file = known ? (struct file){information.st_dev, information.st_ino, information.st_nlink} : (struct file){0};
    place->head_read = place->with_head && S_ISREG(place->mode) && read_head(fd, place->head) == 0;
    place->read_only = fstatvfs(fd, &system) == 0 && system.f_flag & ST_RDONLY;
    if (*place->real != '/' || !strncmp(place->real, "/memfd:", 7))
        place->mode = S_IFIFO; /* no file on a disk */
    return 0;
}

/* The place of what cannot be reached from the directory `at`, or is not there (yet). */
static int where_would_be(int at, const char *rest, int error, struct place *place)
{
    const char *slash = strchr(rest, '/');
    if (where_is(at, -1, "", place) < 0 || path_in(at, rest, place->real) < 0)
        return -1;
    place->mode = 0;
    place->file = (struct file){0};
    place->head_read = 0;
    place->absent = error == ENOENT;
    place->missing_parent = error != ENOENT || (slash && slash[strspn(slash, "/")]);
    return 0;
}

/* How a link is followed: the kernel goes by its text, or straight to an open file, as by some links of /proc. Of these
 * only those of the stopped process itself are followed here; a look at those of others is recorded. */
enum { BY_TEXT, STRAIGHT, NOT_FOLLOWED };

static int read_target(const struct stopped *stopped, int at, const char *name, char target[PATH_MAX])
{
    struct statfs system;
    char path[PATH_MAX];
    long long pid;
    ssize_t size = readlinkat(at, name, target, PATH_MAX - 1);
    target[size > 0 ? size : 0] = 0;
    if (fstatfs(at, &system) < 0)
        return NOT_FOLLOWED;
    if (system.f_type != PROC_SUPER_MAGIC)
        return size > 0 ? BY_TEXT : NOT_FOLLOWED;
    struct process *process = who_is(stopped->thread);
    if (!process || path_of(at, path) < 0)
        return NOT_FOLLOWED;
    if (!strcmp(path, "/proc")) {
        if (!strcmp(name, "self")) /* to the guard it means another process */
            snprintf(target, PATH_MAX, "%lld", process->inside);
        if (!strcmp(name, "thread-self"))
            snprintf(target, PATH_MAX, "%lld/task/%lld", process->inside, thread_inside(stopped->thread));
        return *target ? BY_TEXT : NOT_FOLLOWED;
    }
    const char *part = proc_part(path, &pid);
    if (!part || pid != process->inside)
        return NOT_FOLLOWED;
    if (!strncmp(part, "/task/", 6))
        part += 6 + strspn(part + 6, "0123456789");
    int own = *part ? !strcmp(part, "/fd") : !strcmp(name, "root") || !strcmp(name, "cwd") || !strcmp(name, "exe");
    return own ? STRAIGHT : NOT_FOLLOWED;
}

static int is_link(int fd)
{
    struct stat information;
    return fstat(fd, &information) == 0 && S_ISLNK(information.st_mode);
}

static int again(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

static int is_same(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Follows `text` from the directory `at`, which is closed, name by name as the kernel would; nothing is above `root`.
 * -1: where it leads is not known, or too many names are on the way. */
static int resolve(const struct stopped *stopped, int root, int at, const char *text, int follow, struct place *place)
{
    char rest[MAX_REST], changed[MAX_REST], target[PATH_MAX], name[NAME_MAX + 1], *next = rest;
    int found = -1, last = 0;
    strcpy(rest, text);
    for (int links = 0; at >= 0 && !last && steps++ < MAX_STEPS; next += strlen(name)) {
        next += strspn(next, "/");
        size_t size = strcspn(next, "/");
        if (!size) {
            found = where_is(at, -1, "", place);
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)(size > NAME_MAX ? 0 : size), next);
        last = !next[size];
        errno = ENAMETOOLONG;
        int top = !strcmp(name, "..") && is_same(at, root);
        int fd = *name ? openat(at, top ? "." : name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd >= 0 && (follow || !last) && is_link(fd)) {
            close(fd);
            int how = links++ < MAX_LINKS ? read_target(stopped, at, name, target) : NOT_FOLLOWED;
            if (how == BY_TEXT) {
                if (snprintf(changed, sizeof changed, "%s%s", target, next + size) >= (int)sizeof changed)
                    break;
                strcpy(rest, changed);
                next = rest;
                *name = last = 0;
                if (*rest == '/') {
                    close(at);
                    at = again(root);
                }
                continue;
            }
            errno = ELOOP;
            fd = how == STRAIGHT ? openat(at, name, O_PATH | O_CLOEXEC) : -1;
            place->by_descriptor |= last;
        }
        if (fd < 0) {
            found = where_would_be(at, next, errno, place);
            break;
        }
        if (last)
            found = where_is(fd, at, name, place);
        close(at);
        at = fd;
    }
    if (at >= 0)
        close(at);
    return found;
}

int find_file(const struct stopped *stopped, const char *text, struct place *place)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)stopped->thread);
    if (strlen(text) >= PATH_MAX)
        return -1;
    int at = *text == '/' ? again(plan.root) : open(link, O_PATH | O_CLOEXEC);
    return resolve(stopped, plan.root, at, text, 1, place);
}

/* Most of what is asked about is a plain path below a writable place: then it is enough to know that no link is on the
 * way, which takes one call or none. What there is at its end is not found out. 0: a closer look is needed. */
static int is_plain(struct place *place, const char *base, const char *text, int how)
{
    if (how & (CLOSELY | AS_ROOT) || holding || (how & (READING | READS_TOO) && (plan.all_reads || plan.secret_count)))
        return 0;
    int given = !*text || (!(how & FOLLOW) && !strchr(text, '/') && strcmp(text, ".") && strcmp(text, ".."));
    normalise(place->claimed, place->real);
    if (!is_writable(place->real) && !(how & READING))
        return 0;
    if (how & READING && (is_within(place->real, "/proc") || is_within(place->real, "/dev")))
        return 0;
    if (how & (READING | READS_TOO) && plan.reads && plan.held && is_within(place->real, plan.held))
        return 0;
    if (given && *base == '/' && is_writable(base))
        return 1; /* the kernel's own name of an open directory has no links in it */
    int fd = open_inside(place->claimed, how & FOLLOW ? 0 : O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno == ENOENT && !strstr(text, ".."));
}

/* The directory that a path starts from, or the file that a descriptor is: its name in /proc. */
static void name_base(const struct stopped *stopped, int handle, char link[64])
{
    if (handle == AT_FDCWD)
        snprintf(link, 64, "/proc/%d/cwd", (int)stopped->thread);
    else
        snprintf(link, 64, "/proc/%d/fd/%d", (int)stopped->thread, handle);
}

/* A closer look, by descriptors: no path is too long for that, and nothing on the way can be taken for something else. */
static int look_closely(const struct stopped *stopped, const char *link, const char *text, int how, struct place *place)
{
    int at = *text == '/' && !(how & AS_ROOT) ? again(plan.root) : open(link, O_PATH | O_CLOEXEC), found;
    if (at < 0 && errno == ENOENT)
        return EBADF;
    if (at >= 0 && !*text) {
        found = where_is(at, -1, "", place);
        close(at);
    } else {
        int root = how & AS_ROOT ? again(at) : plan.root;
        found = resolve(stopped, root, at, text, how & FOLLOW, place);
        if (how & AS_ROOT && root >= 0)
            close(root);
    }
    return found < 0 ? refuse_unreadable(stopped, "a path that leads nowhere", ENAMETOOLONG) : 0;
}

int locate(const struct stopped *stopped, int directory, int path, int how, struct place *place)
{
    char text[PATH_MAX], base[PATH_MAX], link[64];
    *text = *base = 0;
    place->mode = place->missing_parent = place->read_only = place->absent = 0;
    place->file = (struct file){0};
    place->with_head = how & CLOSELY;
    place->head_read = 0;
    ssize_t size = path < 0 || !stopped->arguments[path]
                       ? 0
                       : read_text(stopped->thread, stopped->arguments[path], text, sizeof text);
    if (size < 0)
        return refuse_unreadable(stopped, "path", EFAULT);
    if (size == sizeof text)
        return refuse_unreadable(stopped, "path without an end", ENAMETOOLONG);
    place->by_descriptor = !*text && directory >= 0;
    place->absent = !*text && directory < 0; /* the kernel takes no empty path without a descriptor */
    strcpy(place->given, text);
    name_base(stopped, directory < 0 ? AT_FDCWD : (int)stopped->arguments[directory], link);
    int absolute = *text == '/' && !(how & AS_ROOT);
    int known = absolute || (read_link(link, base) == 0 && strlen(base) + strlen(text) + 2 <= sizeof base);
    if (*text && known)
        join(base, text + (how & AS_ROOT ? strspn(text, "/") : 0), place->claimed);
    else
        strcpy(place->claimed, *text ? text : base);
    if (!strcmp(place->claimed, "/dev/null")) { /* the most common of all */
        strcpy(place->real, place->claimed);
        place->mode = S_IFCHR;
        return 0;
    }
    return known && *place->claimed == '/' && is_plain(place, base, text, how)
               ? 0
               : look_closely(stopped, link, text, how, place);
}
