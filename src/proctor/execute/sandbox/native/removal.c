/* Takes paths away from a freshly mounted workspace, before anything runs in it.
 *
 * A path comes from a patch. It is resolved strictly below the root and never through a symbolic link, so it cannot
 * reach anything else; a path that is not there is no error. Directories are removed with all they hold, and parents
 * that this empties go too, as git does it, down to but without the first component.
 */
#include "modes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_beneath(int root, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return syscall(SYS_openat2, root, path, &how, sizeof how);
}

static void empty_directory(int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    if (!directory || depth > 512)
        die("cannot remove a directory that is nested too deeply");
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (unlinkat(dirfd(directory), name, 0) == 0)
            continue;
        int inner = openat(dirfd(directory), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0)
            die_errno("cannot remove %s", name);
        empty_directory(inner, depth + 1);
        if (unlinkat(dirfd(directory), name, AT_REMOVEDIR) < 0)
            die_errno("cannot remove %s", name);
    }
    closedir(directory);
}

/* Removes `name` from `parent`; 0 when there was no such thing. */
static int remove_entry(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    int inner = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        die_errno("cannot remove %s", name);
    empty_directory(inner, 0);
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
        die_errno("cannot remove %s", name);
    return 1;
}

/* Two components at least, each of them a plain name. */
static int is_plain(const char *path)
{
    int components = 0;
    for (const char *start = path;; components++) {
        size_t size = strcspn(start, "/");
        if (!size || (size == 1 && start[0] == '.') || (size == 2 && start[0] == '.' && start[1] == '.'))
            return 0;
        if (!start[size])
            return components >= 1;
        start += size + 1;
    }
}

void remove_below(int root, char *path)
{
    if (!is_plain(path))
        die("not a path that can be removed: %s", path);
    for (int first = 1; strchr(path, '/'); first = 0) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        int parent = open_beneath(root, path);
        if (parent < 0) {
            if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
                return;
            die_errno("cannot remove below %s", path);
        }
        int removed = first ? remove_entry(parent, slash + 1) : unlinkat(parent, slash + 1, AT_REMOVEDIR) == 0;
        close(parent);
        if (!removed)
            return; /* there was nothing, or the parent is not empty */
    }
}
