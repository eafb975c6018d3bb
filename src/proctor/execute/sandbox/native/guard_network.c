/* The rules about the network: nothing but the loopback is there, and every other address and every name is told.
 *
 * The network namespace enforces it; the guard gives the same answers. A name is what a message to port 53 asks for, or
 * what any batch of messages asks for that has the form of a query. An abstract socket that nobody inside has bound can
 * only be meant to be one of the host's.
 */
#include "guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define QUERY_BYTES 512
#define NAME_BYTES 256
#define MAX_MESSAGES 8
#define SOCKETS_BYTES (1 << 18)

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
    struct sockaddr_storage space;
};

static int read_address(const struct stopped *stopped, uint64_t at, uint64_t size, union address *address)
{
    memset(address, 0, sizeof *address);
    if (size > sizeof *address)
        size = sizeof *address;
    return size >= sizeof address->any.sa_family && read_memory(stopped->thread, at, address, size) > 0 ? 0 : -1;
}

static int is_four_near(const unsigned char *bytes) { return bytes[0] == 127 || !memcmp(bytes, "\0\0\0\0", 4); }

/* Whether the address stays inside: the loopback, the unspecified one, or no network address at all. */
static int is_near(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return is_four_near((const unsigned char *)&address->four.sin_addr);
    if (address->any.sa_family != AF_INET6)
        return address->any.sa_family == AF_UNIX || address->any.sa_family == AF_UNSPEC ||
               address->any.sa_family == AF_NETLINK;
    const struct in6_addr *six = &address->six.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_UNSPECIFIED(six) ||
           (IN6_IS_ADDR_V4MAPPED(six) && is_four_near(six->s6_addr + 12));
}

static void spell(const union address *address, char into[128])
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address->four.sin_addr, text, sizeof text);
        snprintf(into, 128, "%s:%u", text, ntohs(address->four.sin_port));
    } else if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->six.sin6_addr, text, sizeof text);
        snprintf(into, 128, "[%s]:%u", text, ntohs(address->six.sin6_port));
    } else {
        snprintf(into, 128, "family %d", address->any.sa_family);
    }
}

static int port_of(const union address *address)
{
    return address->any.sa_family == AF_INET    ? ntohs(address->four.sin_port)
           : address->any.sa_family == AF_INET6 ? ntohs(address->six.sin6_port)
                                                : 0;
}

/* The name that a DNS query asks for, with what is not plain in it made harmless; 0 when it is no query. */
static int query_name(const unsigned char *data, size_t size, char into[NAME_BYTES])
{
    size_t at = 12, used = 0;
    if (size < 17 || data[2] & 0xf8 || data[4] || data[5] != 1)
        return 0;
    while (at < size && data[at]) {
        size_t label = data[at++];
        if (label > 63 || at + label >= size || used + label + 2 > NAME_BYTES)
            return 0;
        if (used)
            into[used++] = '.';
        for (size_t i = 0; i < label; i++)
            into[used++] = data[at + i] > 32 && data[at + i] < 127 ? data[at + i] : '?';
        at += label;
    }
    into[used] = 0;
    return at + 5 <= size && used > 0;
}

static int tell_name(const struct stopped *stopped, uint64_t at, uint64_t size, const char *address, int near)
{
    unsigned char data[QUERY_BYTES];
    char name[NAME_BYTES];
    ssize_t got = read_memory(stopped->thread, at, data, size < sizeof data ? size : sizeof data);
    if (got <= 0 || !query_name(data, got, name))
        return 0;
    tell_attempt(stopped, "dns", name, "", address, near, near ? 0 : ENETUNREACH);
    return 1;
}

static int decide_socket(const struct stopped *stopped)
{
    char address[64];
    int family = stopped->arguments[0], type = stopped->arguments[1] & 0xf;
    int raw = type == SOCK_RAW && (family == AF_INET || family == AF_INET6);
    snprintf(address, sizeof address, "family %d type %d protocol %d", family, type, (int)stopped->arguments[2]);
    int error = raw ? EPERM : EAFNOSUPPORT;
    tell_attempt(stopped, "network", raw ? "raw socket" : "socket family", "", address, 0, error);
    return error;
}

/* The name of an abstract socket as the kernel lists it, with every NUL as an @; 0 when the address is not one. */
static int abstract_name(const union address *address, uint64_t size, char into[sizeof address->local.sun_path + 1])
{
    size_t start = offsetof(struct sockaddr_un, sun_path);
    if (address->any.sa_family != AF_UNIX || size <= start + 1 || address->local.sun_path[0])
        return 0;
    size_t length = size - start < sizeof address->local.sun_path ? size - start : sizeof address->local.sun_path;
    for (size_t i = 0; i < length; i++)
        into[i] = address->local.sun_path[i] ? address->local.sun_path[i] : '@';
    into[length] = 0;
    return 1;
}

/* Whether the network namespace of the stopped process has a socket of that name; it lists one at the end of a line. */
static int is_bound(const struct stopped *stopped, const char *name)
{
    static char list[SOCKETS_BYTES];
    char path[64], line[sizeof(union address) + 4];
    size_t filled = 0;
    snprintf(path, sizeof path, "/proc/%d/net/unix", (int)stopped->thread);
    snprintf(line, sizeof line, " %s\n", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (ssize_t got; (got = read(fd, list + filled, sizeof list - filled)) > 0;)
        filled += got;
    close(fd);
    return memmem(list, filled, line, strlen(line)) != NULL;
}

static int decide_connect(const struct stopped *stopped)
{
    union address address;
    char text[128];
    if (read_address(stopped, stopped->arguments[1], stopped->arguments[2], &address) < 0)
        return 0;
    if (abstract_name(&address, stopped->arguments[2], text) && !is_bound(stopped, text))
        tell_attempt(stopped, "network", "abstract socket", "", text, 0, 0);
    if (is_near(&address))
        return 0;
    spell(&address, text);
    tell_attempt(stopped, "network", "", "", text, 0, ENETUNREACH);
    return ENETUNREACH;
}

static int decide_send(const struct stopped *stopped)
{
    union address address;
    char text[128];
    if (read_address(stopped, stopped->arguments[4], stopped->arguments[5], &address) < 0)
        return 0;
    int near = is_near(&address);
    spell(&address, text);
    int named = port_of(&address) == 53 && tell_name(stopped, stopped->arguments[1], stopped->arguments[2], text, near);
    if (near)
        return 0;
    if (!named)
        tell_attempt(stopped, "network", "", "", text, 0, ENETUNREACH);
    return ENETUNREACH;
}

static int decide_send_many(const struct stopped *stopped)
{
    struct mmsghdr messages[MAX_MESSAGES];
    unsigned count = stopped->arguments[2] < MAX_MESSAGES ? stopped->arguments[2] : MAX_MESSAGES;
    ssize_t got = read_memory(stopped->thread, stopped->arguments[1], messages, count * sizeof *messages);
    int error = 0;
    for (unsigned i = 0; got > 0 && i < got / sizeof *messages; i++) {
        const struct msghdr *header = &messages[i].msg_hdr;
        union address address;
        struct iovec piece;
        char text[128] = "";
        int near = 1, named = 0;
        if (header->msg_name &&
            !read_address(stopped, (uintptr_t)header->msg_name, header->msg_namelen, &address)) {
            near = is_near(&address);
            spell(&address, text);
        }
        if (header->msg_iovlen &&
            read_memory(stopped->thread, (uintptr_t)header->msg_iov, &piece, sizeof piece) == sizeof piece)
            named = tell_name(stopped, (uintptr_t)piece.iov_base, piece.iov_len, text, near);
        if (near)
            continue;
        if (!named)
            tell_attempt(stopped, "network", "", "", text, 0, ENETUNREACH);
        error = ENETUNREACH;
    }
    return error;
}

static int decide_bind(const struct stopped *stopped)
{
    union address address;
    char text[128];
    if (read_address(stopped, stopped->arguments[1], stopped->arguments[2], &address) < 0 || is_near(&address))
        return 0;
    spell(&address, text);
    tell_attempt(stopped, "network", "bind", "", text, 0, EADDRNOTAVAIL);
    return EADDRNOTAVAIL;
}

int decide_network(const struct stopped *stopped)
{
    switch (stopped->call->rule) {
    case SOCKET:
        return decide_socket(stopped);
    case CONNECT:
        return decide_connect(stopped);
    case SEND:
        return decide_send(stopped);
    case SEND_MANY:
        return decide_send_many(stopped);
    default:
        return decide_bind(stopped);
    }
}
