/* `remount FD PATH ro|rw`: makes one mount of a live sandbox read-only or writable. FD is its mount namespace.
 *
 * It runs outside and enters for the one call; nothing of it is ever seen inside. An ordinary user enters through the
 * user namespace that owns the mounts. Only the flag of this mount changes, not the file system behind it. The kernel
 * refuses to take writing away while a file is open for it; that is told by the status BUSY, so that nobody keeps a
 * descriptor across the change.
 */
#include "modes.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

enum { BUSY = 2 };

int remount_mode(int argc, char **argv)
{
    int mounts = argc == 3 ? number(argv[0]) : -1;
    if (mounts < 3 || (strcmp(argv[2], "ro") && strcmp(argv[2], "rw")))
        die("remount wants a namespace, a path, and ro or rw");
    if (geteuid() != 0) {
        int users = ioctl(mounts, NS_GET_USERNS);
        if (users < 0 || setns(users, CLONE_NEWUSER) < 0)
            die_errno("cannot enter the sandbox's user namespace");
    }
    if (setns(mounts, CLONE_NEWNS) < 0)
        die_errno("cannot enter the sandbox's mounts");
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV;
    if (mount(NULL, argv[1], NULL, strcmp(argv[2], "ro") ? flags : flags | MS_RDONLY, NULL) == 0)
        return 0;
    if (errno == EBUSY)
        return BUSY;
    die_errno("cannot make %s %s", argv[1], argv[2]);
}
