/* `probe overlay LOWER UPPER WORK`: whether this user can mount an overlay over these directories here.
 *
 * It goes the same way as `launch`, in namespaces of its own, and leaves nothing behind.
 */
#include "modes.h"

#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

int probe_mode(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[0], "overlay"))
        die("probe wants: overlay LOWER UPPER WORK");
    struct overlay overlay = {.lower_count = 1};
    private_mounts();
    overlay.lowers[0] = open_source(argv[1]);
    overlay.upper = open_source(argv[2]);
    overlay.work = open_source(argv[3]);
    make_stage();
    if (mkdir("root", 0755) < 0 || mount_overlay(&overlay, "root") < 0)
        die_errno("cannot mount an overlay");
    return 0;
}
