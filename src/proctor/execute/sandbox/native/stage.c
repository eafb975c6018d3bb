/* The stage: a private mount namespace with a small tmpfs in which the pieces of a sandbox's view are put together.
 *
 * Every source is opened first, as an O_PATH descriptor, and mounted through /proc/self/fd: so neither odd characters,
 * nor long paths, nor directories that the sandboxed user may not enter are in the way, and the stage may cover the
 * place that a source came from. All of it vanishes with the namespace, whatever kills whom.
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        die_errno("cannot write %s", path);
    close(fd);
}

void private_mounts(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0)
        die_errno("cannot make a private namespace");
    if (uid != 0) {
        char map[64];
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "%u %u 1", uid, uid);
        write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof map, "%u %u 1", gid, gid);
        write_text("/proc/self/gid_map", map);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        die_errno("cannot make the mounts private");
}

int open_source(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        die_errno("cannot open %s", path);
    return fd;
}

void make_stage(void)
{
    if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") < 0)
        die_errno("cannot mount the stage");
    if (chdir(STAGE) < 0)
        die_errno("cannot enter the stage");
}

int mount_overlay(const struct overlay *overlay, const char *target)
{
    char options[4096];
    int used = snprintf(options, sizeof options, "index=off,metacopy=off,redirect_dir=nofollow,%slowerdir=",
                        geteuid() == 0 ? "" : "userxattr,");
    for (int i = 0; i < overlay->lower_count; i++)
        used += snprintf(options + used, sizeof options - used, "%s/proc/self/fd/%d", i ? ":" : "",
                         overlay->lowers[i]);
    snprintf(options + used, sizeof options - used, ",upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d",
             overlay->upper, overlay->work);
    return mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, options);
}

void bind_on(int source, const char *name)
{
    char path[64];
    struct stat information;
    if (fstat(source, &information) < 0)
        die_errno("cannot look at the source of %s", name);
    if (S_ISDIR(information.st_mode)) {
        if (mkdir(name, 0755) < 0 && errno != EEXIST)
            die_errno("cannot make %s on the stage", name);
    } else {
        int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0)
            die_errno("cannot make %s on the stage", name);
        close(fd);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", source);
    if (mount(path, name, NULL, MS_BIND | MS_REC, NULL) < 0)
        die_errno("cannot show %s on the stage", name);
}
