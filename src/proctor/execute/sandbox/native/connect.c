/* `connect PATH [NAME=NUMBER...]`: pid 1 of a container; as `serve`, with the socket at PATH instead of a descriptor.
 *
 * A container engine starts this program, so no descriptor of the harness can reach it. The harness listens at PATH,
 * takes one connection, which is this one because nothing else runs yet, and takes the name away.
 */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int connect_mode(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[32];
    if (argc < 1 || strlen(argv[0]) >= sizeof address.sun_path)
        die("connect wants the path of a socket");
    strcpy(address.sun_path, argv[0]);
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        die_errno("cannot reach the harness at %s", argv[0]);
    snprintf(text, sizeof text, "%d", fd);
    argv[0] = text;
    return serve_mode(argc, argv);
}
