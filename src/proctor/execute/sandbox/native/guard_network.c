/* The rules about the network: nothing but the loopback is there, and every other address and every name is told.
 *
 * The network namespace enforces it; the guard gives the same answers. A name is what a message to port 53 asks for, or
 * what any batch of messages asks for that has the form of a query. An abstract socket that nobody inside has bound can
 * only be meant to be one of the host's, and so can a path outside the writable places where no socket is. Settings of the
 * network are asked for freely; who tries to change them is recorded.
 */
#include "guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define DNS_PORT 53
#define FIRST_FREE_PORT 1024 /* those below belong to root */
#define QUERY_BYTES 512
#define SETTINGS_BYTES (64 << 10) /* many messages may follow one another */
#define NAME_BYTES 256
#define MAX_MESSAGES 1024 /* the kernel takes no more at once, neither messages nor pieces of one */
#define SOCKETS_BYTES (1 << 18)

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
    struct sockaddr_storage space;
};

/* 0, or -1 when it cannot be read; without an address it is that of no family, AF_UNSPEC. */
static int read_address(const struct stopped *stopped, uint64_t at, uint64_t size, union address *address)
{
    memset(address, 0, sizeof *address);
    if (size > sizeof *address)
        size = sizeof *address;
    return !at || size < sizeof address->any.sa_family ? 0 : read_memory(stopped->thread, at, address, size);
}

/* To send and to bind, an address of no family that is as long as one of IPv4 is one of IPv4; to connect, it is none. */
static void name_family(union address *address, uint64_t size)
{
    if (address->any.sa_family == AF_UNSPEC && size >= sizeof address->four)
        address->any.sa_family = AF_INET;
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

/* Records the name that a message asks for; 0 when it is not a query. */
static int tell_name(const struct stopped *stopped, const unsigned char *data, size_t size, const char *address, int near)
{
    char name[NAME_BYTES];
    if (!query_name(data, size, name))
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

/* What every libc and many libraries try on the way, and which no user asked for. */
static int is_name_service(const char *path)
{
    const char *names[] = {"/run/nscd", "/var/run/nscd", "/run/systemd", "/var/run/systemd", "/dev/log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_within(path, names[i]))
            return 1;
    return 0;
}

/* Records a Unix socket that can only be meant to be one of the host's; the kernel finds none. 0, or the answer. */
static int look_at_local(const struct stopped *stopped, const union address *address, uint64_t size)
{
    static struct place place;
    char text[sizeof address->local.sun_path + 1] = "";
    if (abstract_name(address, size, text)) {
        if (!is_bound(stopped, text))
            tell_attempt(stopped, "network", "abstract socket", "", text, 0, 0);
        return 0;
    }
    if (address->any.sa_family != AF_UNIX || !address->local.sun_path[0])
        return 0;
    memcpy(text, address->local.sun_path, sizeof address->local.sun_path);
    if (find_file(stopped, text, &place) < 0)
        return refuse_unreadable(stopped, "path", ENOENT);
    if (!S_ISSOCK(place.mode) && !is_writable(place.real) && !is_name_service(place.real))
        tell_attempt(stopped, "network", "socket of the host", place.real, "", 0, 0);
    return 0;
}

/* Whether one of the messages to the kernel's network settings changes any; of each four types the third only asks. More
 * than could be read may be a change. */
static int is_change(const unsigned char *data, size_t size)
{
    struct nlmsghdr header;
    for (size_t at = 0; at + sizeof header <= size; at += NLMSG_ALIGN((size_t)header.nlmsg_len)) {
        memcpy(&header, data + at, sizeof header);
        if (header.nlmsg_type >= RTM_BASE && (header.nlmsg_type & 3) != 2)
            return 1;
        if (header.nlmsg_len < sizeof header)
            return 0; /* the kernel stops there */
    }
    return size == SETTINGS_BYTES;
}

static int decide_connect(const struct stopped *stopped)
{
    union address address;
    char text[128];
    if (read_address(stopped, stopped->arguments[1], stopped->arguments[2], &address) < 0)
        return refuse_unreadable(stopped, "address", EFAULT);
    int error = look_at_local(stopped, &address, stopped->arguments[2]);
    if (error || is_near(&address))
        return error;
    spell(&address, text);
    tell_attempt(stopped, "network", "", "", text, 0, ENETUNREACH);
    return ENETUNREACH;
}

static unsigned char data[SETTINGS_BYTES]; /* of the message that is looked at */

/* The answer about one message: to `address`, with so many of its bytes in `data`. */
static int decide_message(const struct stopped *stopped, const union address *address, size_t size)
{
    char text[128] = "";
    int near = is_near(address);
    if (address->any.sa_family != AF_UNSPEC)
        spell(address, text);
    if (address->any.sa_family == AF_NETLINK) {
        if (!is_change(data, size))
            return 0;
        tell_attempt(stopped, "network", "network settings", "", text, 0, EPERM);
        return EPERM;
    }
    int named = tell_name(stopped, data, size, text, near);
    if (near)
        return 0;
    if (!named)
        tell_attempt(stopped, "network", "", "", text, 0, ENETUNREACH);
    return ENETUNREACH;
}

/* How many bytes of a message to that address matter. */
static size_t bytes_of_interest(const union address *address)
{
    return address->any.sa_family == AF_NETLINK ? SETTINGS_BYTES : port_of(address) == DNS_PORT ? QUERY_BYTES : 0;
}

static int decide_send(const struct stopped *stopped)
{
    union address address;
    if (read_address(stopped, stopped->arguments[4], stopped->arguments[5], &address) < 0)
        return refuse_unreadable(stopped, "address", EFAULT);
    name_family(&address, stopped->arguments[5]);
    int error = look_at_local(stopped, &address, stopped->arguments[5]);
    if (error)
        return error;
    size_t size = bytes_of_interest(&address);
    if (size > stopped->arguments[2])
        size = stopped->arguments[2];
    if (size && read_memory(stopped->thread, stopped->arguments[1], data, size) < 0)
        return refuse_unreadable(stopped, "message", EFAULT);
    return decide_message(stopped, &address, size);
}

/* Reads the first bytes of a message of several pieces: how many, or -1. */
static ssize_t gather(const struct stopped *stopped, const struct msghdr *header, size_t size)
{
    static struct iovec pieces[MAX_MESSAGES];
    size_t count = header->msg_iovlen < MAX_MESSAGES ? header->msg_iovlen : MAX_MESSAGES;
    if (count && read_memory(stopped->thread, (uintptr_t)header->msg_iov, pieces, count * sizeof *pieces) < 0)
        return -1;
    return read_pieces(stopped->thread, pieces, count, data, size);
}

/* A message whose parts are in memory. One without an address is read only if `closely`: resolvers send batches of
 * queries over connected sockets. */
static int decide_header(const struct stopped *stopped, const struct msghdr *header, int closely)
{
    union address address;
    if (read_address(stopped, (uintptr_t)header->msg_name, header->msg_namelen, &address) < 0)
        return refuse_unreadable(stopped, "address", EFAULT);
    name_family(&address, header->msg_name ? header->msg_namelen : 0);
    int error = look_at_local(stopped, &address, header->msg_namelen);
    if (error)
        return error;
    size_t wanted = bytes_of_interest(&address);
    if (closely && !wanted)
        wanted = QUERY_BYTES;
    ssize_t size = wanted ? gather(stopped, header, wanted) : 0;
    if (size < 0)
        return refuse_unreadable(stopped, "message", EFAULT);
    return decide_message(stopped, &address, size);
}

static int decide_send_message(const struct stopped *stopped)
{
    struct msghdr header;
    if (read_memory(stopped->thread, stopped->arguments[1], &header, sizeof header) < 0)
        return refuse_unreadable(stopped, "message", EFAULT);
    return decide_header(stopped, &header, 0);
}

static int decide_send_many(const struct stopped *stopped)
{
    uint32_t count = stopped->arguments[2];
    int error = 0;
    for (uint32_t i = 0; i < count && i < MAX_MESSAGES; i++) {
        struct mmsghdr message;
        if (read_memory(stopped->thread, stopped->arguments[1] + i * sizeof message, &message, sizeof message) < 0)
            return refuse_unreadable(stopped, "message", EFAULT);
        int result = decide_header(stopped, &message.msg_hdr, 1);
        error = error ? error : result;
    }
    return error;
}

/* A Unix socket is a file that is made. */
static int decide_bound(const struct stopped *stopped, const union address *address)
{
    static struct place place;
    char text[sizeof address->local.sun_path + 1] = "";
    memcpy(text, address->local.sun_path, sizeof address->local.sun_path);
    if (!*text)
        return 0;
    return find_file(stopped, text, &place) < 0 ? refuse_unreadable(stopped, "path", EINVAL) : decide_made(stopped, &place);
}

static int decide_bind(const struct stopped *stopped)
{
    union address address;
    char text[128];
    if (read_address(stopped, stopped->arguments[1], stopped->arguments[2], &address) < 0)
        return refuse_unreadable(stopped, "address", EFAULT);
    name_family(&address, stopped->arguments[2]);
    if (address.any.sa_family == AF_UNIX)
        return decide_bound(stopped, &address);
    int port = port_of(&address);
    spell(&address, text);
    if (is_near(&address) && (!port || port >= FIRST_FREE_PORT))
        return 0;
    if (is_near(&address)) { /* the kernel may be set to allow them to every user */
        tell_attempt(stopped, "privilege", "a port of root", "", text, 0, EACCES);
        return EACCES;
    }
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
    case SEND_MESSAGE:
        return decide_send_message(stopped);
    case SEND_MANY:
        return decide_send_many(stopped);
    default:
        return decide_bind(stopped);
    }
}
