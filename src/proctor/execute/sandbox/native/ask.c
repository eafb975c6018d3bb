/* The client inside a sandbox: this program under the name `stage`. It asks the harness for a stage and says the answer.
 *
 *     /proctor/stage          says which stage the run is in
 *     /proctor/stage next     asks for the next one; or name it: inspect, write, test
 *
 * It holds no right of its own: it sends one word to the socket beside it, and the harness decides. Status: 0 granted,
 * 1 refused, 3 nobody answers.
 */
#include "modes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "/proctor/ask"
enum { REFUSED = 1, USAGE = 2, UNREACHED = 3 };

static int unreached(void)
{
    fprintf(stderr, "stage: the harness does not answer: %s\n", strerror(errno));
    return UNREACHED;
}

int ask_mode(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
    char answer[512];
    const char *word = argc > 0 ? argv[0] : "";
    if (argc > 1) {
        fprintf(stderr, "usage: stage [next|inspect|write|test]\n");
        return USAGE;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, word, strlen(word) + 1, MSG_NOSIGNAL) < 0)
        return unreached();
    ssize_t size = recv(fd, answer, sizeof answer - 1, 0);
    if (size < 2) {
        errno = size < 0 ? errno : ECONNRESET;
        return unreached();
    }
    answer[size] = 0;
    int granted = answer[0] == '+';
    fprintf(granted ? stdout : stderr, "%s\n", answer + 1);
    return granted ? 0 : REFUSED;
}
