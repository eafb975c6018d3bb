/* Picks the mode. */
#include "modes.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} modes[] = {
    {"launch", launch_mode},
    {"serve", serve_mode},
    {"connect", connect_mode},
    {"merge", merge_mode},
    {"part", part_mode},
    {"guard", guard_mode},
    {"probe", probe_mode},
    {"remount", remount_mode},
    {"listen", listen_mode},
};

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
    if (name && strcmp(name, "/stage") == 0)
        return ask_mode(argc - 1, argv + 1);
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argc - 2, argv + 2);
    die("this program is part of Proctor and of no use by itself");
}
