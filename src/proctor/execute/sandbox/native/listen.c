/* `listen NETWORK SOCKET KIND:PORT...`: opens sockets on the loopback of a sandbox's network namespace.
 *
 * NETWORK is a descriptor of the namespace; KIND is tcp or udp. The open sockets are sent over SOCKET in the order of
 * the arguments. It runs outside and enters only for this, so nothing of it is visible inside. An ordinary user enters
 * through the user namespace that owns the network. A loopback that is down is brought up.
 */
#include "modes.h"

#include <arpa/inet.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_SOCKETS = 253, BACKLOG = 128 }; /* the kernel passes at most 253 descriptors in one message */

static void enter(int network)
{
    if (geteuid() != 0) {
        int users = ioctl(network, NS_GET_USERNS);
        if (users < 0 || setns(users, CLONE_NEWUSER) < 0)
            die_errno("enter the user namespace");
    }
    if (setns(network, CLONE_NEWNET) < 0)
        die_errno("enter the network namespace");
}

static void bring_loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0 || ioctl(control, SIOCGIFFLAGS, &request) < 0)
        die_errno("loopback");
    request.ifr_flags |= IFF_UP;
    if (ioctl(control, SIOCSIFFLAGS, &request) < 0)
        die_errno("loopback");
    close(control);
}

static int open_socket(const char *request)
{
    int is_stream = strncmp(request, "tcp:", 4) == 0;
    long long port = is_stream || strncmp(request, "udp:", 4) == 0 ? number(request + 4) : -1;
    if (port < 0 || port > 65535)
        die("listen wants tcp:PORT or udp:PORT");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int opened = socket(AF_INET, (is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0), yes = 1;
    if (opened < 0 || (is_stream && setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0)
        || bind(opened, (struct sockaddr *)&address, sizeof address) < 0 || (is_stream && listen(opened, BACKLOG) < 0))
        die_errno("%.3s %lld", request, port);
    return opened;
}

int listen_mode(int argc, char **argv)
{
    long long network = argc > 2 ? number(argv[0]) : -1, channel = argc > 2 ? number(argv[1]) : -1;
    int count = argc - 2;
    if (network < 3 || channel < 3 || count > MOST_SOCKETS)
        die("listen wants a namespace, a socket, and 1 to %d requests", MOST_SOCKETS);
    enter((int)network);
    bring_loopback_up();
    int sockets[MOST_SOCKETS];
    for (int i = 0; i < count; i++)
        sockets[i] = open_socket(argv[i + 2]);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof sockets)] = {0};
    size_t size = (size_t)count * sizeof *sockets;
    struct iovec text = {.iov_base = ".", .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(size)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), sockets, size);
    if (sendmsg((int)channel, &message, MSG_NOSIGNAL) < 0)
        die_errno("send the sockets");
    return 0;
}
