/* A fuzz target for what the guard reads from the memory of another process.
 *
 *     fuzz_guard DIRECTORY SEED COUNT [race]
 *
 * A child stands for the agent. It shares a region of memory, some pages of which it cannot read, and holds a few
 * descriptors. Each turn builds the arguments of one watched call in that region by code (paths, argument lists,
 * addresses, messages, structs), damages them, and lets the guard decide about the call. Nothing is executed: a decision
 * only reads. With `race` the child also changes random words of the region meanwhile. Built with sanitizers, which end
 * the program at the first fault. The same seed gives the same calls. DIRECTORY is a writable one, whose path is short.
 */
#include "guard.h"
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 256
#define HOLE 8 /* every eighth page is one that the child cannot read */
#define REGION ((size_t)PAGES * PAGE)
#define PLACE ((void *)0x200000000000) /* always the same, and nothing of a sanitizer's is there */
#define MOST_POINTERS 700
#define MOST_PIECES 1100

static const char *scratch;
static char long_text[MAX_ARGUMENT_BYTES + 2 * PAGE]; /* without a hole, and longer than what the guard reads */
static unsigned char *region;
static uint64_t state;
static size_t used;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t below(uint64_t bound) { return bound ? draw() % bound : 0; }

/* Room for `size` bytes: anywhere, or so that they end where a page does, or go across the border of two pages. */
static unsigned char *room(size_t size)
{
    size_t first = 1 + below(PAGES - 20), at = first * PAGE;
    if (size > 12 * PAGE)
        size = 12 * PAGE;
    switch (below(4)) {
    case 0:
        at += PAGE - size % PAGE;
        break;
    case 1:
        at += PAGE - (size / 2) % PAGE;
        break;
    default:
        at += below(PAGE) & ~7ULL;
    }
    used = at;
    return region + (at + size < REGION ? at : PAGE);
}

static uint64_t address(const void *place) { return (uint64_t)(uintptr_t)place; }

static uint64_t put(const void *data, size_t size)
{
    unsigned char *place = room(size);
    memcpy(place, data, size);
    return address(place);
}

static uint64_t make_path(void)
{
    static const char *const paths[] = {
        "/etc/passwd", "relative", "", ".", "..", "/", "/proc/self/fd/3", "/proc/self/root/etc/x", "/proc/1/mem",
        "/proc/self/cwd/../x", "@/link", "@/script", "@/script", "@/script", "@/loop/a/b",
        "/dev/null", "/dev/fd/0", "/dev/stdout", "/usr/lib/__pycache__/x.cpython-311.pyc.1234", "/bin/sh",
        "@/../../etc/x", "/proc/thread-self/fd/0", "no/such/place", "@/deep/deep/deep",
    };
    static char text[3 * PATH_MAX];
    const char *start = paths[below(sizeof paths / sizeof *paths)];
    size_t size = snprintf(text, PATH_MAX, "%s%s", *start == '@' ? scratch : "", start + (*start == '@')), wanted = size;
    if (below(4) == 0)
        wanted = below(2) ? PATH_MAX - 3 + below(6) : below(sizeof text - 1);
    static const char *const fillers[] = {"/.", "/..", "//", "/x", "/\xff", "/proc"};
    const char *filler = fillers[below(6)];
    while (size < wanted && size < sizeof text - 8) {
        size_t piece = strlen(filler);
        memcpy(text + size, filler, piece);
        size += piece;
    }
    text[size] = 0;
    return put(text, size + (below(8) != 0)); /* sometimes without its end */
}

static uint64_t make_text(size_t most)
{
    static char text[20000];
    size_t size = below(most < sizeof text ? most : sizeof text);
    for (size_t i = 0; i < size; i++)
        text[i] = 'a' + below(26);
    text[size] = 0;
    return put(text, size + 1);
}

static uint64_t wild(void)
{
    switch (below(6)) {
    case 0:
        return 0;
    case 1:
        return draw();
    case 2:
        return address(region + HOLE * PAGE * (1 + below(PAGES / HOLE - 2)) - below(16));
    case 3:
        return address(region + REGION - below(64));
    case 4:
        return UINT64_MAX - below(4096);
    default:
        return address(region + below(REGION));
    }
}

static uint64_t make_long(void) { return address(long_text + (below(2) ? below(4 * PAGE) : below(sizeof long_text))); }

static uint64_t make_arguments(void)
{
    static uint64_t pointers[MOST_POINTERS + 1];
    size_t count = below(4) ? below(8) : below(MOST_POINTERS);
    for (size_t i = 0; i < count; i++)
        pointers[i] = below(20) ? make_text(below(10) ? 20 : 18000) : below(2) ? wild() : make_long();
    pointers[count] = below(10) ? 0 : wild();
    return put(pointers, (count + 1) * sizeof *pointers);
}

static size_t make_address(struct sockaddr_storage *into)
{
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_UNSPEC, AF_PACKET, 77};
    memset(into, 0, sizeof *into);
    for (size_t i = 0; i < sizeof *into; i++)
        ((unsigned char *)into)[i] = below(3) ? 0 : draw();
    into->ss_family = families[below(7)];
    unsigned char *bytes = (unsigned char *)into;
    if (below(2)) /* port 53 */
        bytes[2] = 0, bytes[3] = 53;
    if (into->ss_family == AF_UNIX && below(2)) {
        struct sockaddr_un *local = (struct sockaddr_un *)into;
        memset(local->sun_path, below(2) ? 'x' : 0, sizeof local->sun_path);
        if (below(2))
            memcpy(local->sun_path, "/run/docker.sock", 17);
    }
    return below(2) ? sizeof *into : below(sizeof *into + 40);
}

static size_t make_query(unsigned char into[600])
{
    static const unsigned char head[12] = {1, 2, 1, 0, 0, 1};
    size_t at = sizeof head, labels = below(6);
    memcpy(into, head, sizeof head);
    for (size_t i = 0; i < labels; i++) {
        size_t size = below(5) ? below(20) : below(70);
        into[at++] = below(20) ? size : draw();
        for (size_t j = 0; j < size; j++)
            into[at++] = draw();
    }
    memset(into + at, 0, 5);
    at += 5;
    return below(4) ? at : below(at);
}

static struct msghdr make_header(void)
{
    struct sockaddr_storage to;
    static struct iovec pieces[MOST_PIECES];
    unsigned char query[600];
    size_t name_size = make_address(&to), size = make_query(query);
    size_t count = below(4) ? below(4) : below(MOST_PIECES), cut = 0;
    for (size_t i = 0; i < count; i++) {
        size_t step = below(3), left = size - cut, piece = i + 1 == count || step > left ? left : step;
        pieces[i].iov_base = (void *)(uintptr_t)(below(50) ? put(query + cut, piece) : wild());
        pieces[i].iov_len = below(50) ? piece : draw();
        cut += piece;
    }
    return (struct msghdr){
        .msg_name = (void *)(uintptr_t)(below(8) ? put(&to, sizeof to) : wild()),
        .msg_namelen = name_size,
        .msg_iov = (void *)(uintptr_t)(below(12) ? put(pieces, count * sizeof *pieces) : wild()),
        .msg_iovlen = below(12) ? count : draw(),
    };
}

static uint64_t make_message(void)
{
    struct msghdr header = make_header();
    return put(&header, sizeof header);
}

static uint64_t make_messages(void)
{
    static struct mmsghdr messages[12];
    size_t count = 1 + below(12);
    for (size_t i = 0; i < count; i++)
        messages[i] = (struct mmsghdr){.msg_hdr = make_header()};
    return put(messages, count * sizeof *messages);
}

static uint64_t make_words(void)
{
    uint64_t words[32];
    for (size_t i = 0; i < 32; i++)
        words[i] = below(3) ? below(64) : draw();
    return put(words, sizeof words);
}

static uint64_t make_socket_address(uint64_t *size)
{
    struct sockaddr_storage to;
    *size = make_address(&to);
    return put(&to, sizeof to);
}

static uint64_t descriptor(void) { return below(3) ? (uint64_t)AT_FDCWD : below(10) ? below(12) : draw(); }

/* The arguments of a call, mostly of the kinds that it takes. */
static void fill(const struct call *call, uint64_t arguments[6])
{
    for (int i = 0; i < 6; i++)
        arguments[i] = below(3) ? below(64) : below(2) ? wild() : make_words();
    switch (call->rule) {
    case CONNECT:
    case BIND:
        arguments[1] = make_socket_address(&arguments[2]);
        break;
    case SEND: {
        unsigned char query[600];
        size_t size = make_query(query);
        arguments[1] = put(query, size);
        arguments[2] = size;
        arguments[4] = make_socket_address(&arguments[5]);
        break;
    }
    case SEND_MESSAGE:
        arguments[1] = make_message();
        break;
    case SEND_MANY:
        arguments[1] = make_messages();
        arguments[2] = below(8) ? below(14) : draw();
        break;
    case EXECUTE:
        arguments[(int)call->extra] = make_arguments();
        /* fall through */
    case OPEN:
    case CHANGE:
    case CHANGE_MODE:
    case CHANGE_ATTRIBUTE:
    case CHANGE_OWNER:
    case MAKE_NODE:
    case RENAME:
    case LINK:
        if (call->directory >= 0)
            arguments[(int)call->directory] = descriptor();
        if (call->path >= 0)
            arguments[(int)call->path] = make_path();
        if (call->rule == RENAME || call->rule == LINK) {
            if (call->directory2 >= 0)
                arguments[(int)call->directory2] = descriptor();
            arguments[(int)call->path2] = make_path();
        }
        if (call->rule == CHANGE_ATTRIBUTE)
            arguments[(int)call->extra] = make_text(below(2) ? 20 : 400);
        break;
    default:
        for (int i = 0; i < 6; i++)
            if (!below(3))
                arguments[i] = make_words();
    }
}

/* Changes a few bytes of what was built, and now and then an argument itself. */
static void damage(uint64_t arguments[6])
{
    for (uint64_t i = below(5); i; i--)
        region[(used + below(256)) % REGION] = draw();
    if (!below(6))
        arguments[below(6)] = wild();
}

static void be_agent(int ready, int racing)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open("/etc/passwd", O_RDONLY);
    open("/tmp", O_PATH);
    open("/usr/bin", O_RDONLY | O_DIRECTORY);
    if (socket(AF_UNIX, SOCK_DGRAM, 0) < 0 || chdir(scratch) < 0)
        _exit(1);
    for (size_t page = HOLE; page < PAGES; page += HOLE)
        mprotect(region + page * PAGE, PAGE, PROT_NONE);
    if (write(ready, "", 1) != 1)
        _exit(1);
    uint64_t mine = 88172645463325252ULL;
    while (racing) {
        mine ^= mine << 13, mine ^= mine >> 7, mine ^= mine << 17;
        size_t at = mine % (REGION - 8);
        if (at / PAGE % HOLE && (at + 8) / PAGE % HOLE)
            *(volatile unsigned char *)(region + at) = mine >> 56;
    }
    for (;;)
        pause();
}

static pid_t start_agent(int racing)
{
    int ready[2];
    char byte;
    if (pipe(ready) < 0)
        die_errno("no pipe");
    pid_t child = fork();
    if (child == 0)
        be_agent(ready[1], racing);
    close(ready[1]);
    if (child < 0 || read(ready[0], &byte, 1) != 1)
        die("the agent does not start");
    close(ready[0]);
    return child;
}

static void prepare(void)
{
    const char *writable[] = {"/workspace", scratch, "/dev/shm"};
    for (int i = 0; i < 3; i++)
        plan.writable[plan.writable_count++] = writable[i];
    plan.held = scratch;
    plan.init = 1;
    plan.inside = 1000;
    plan.file_bytes = 1 << 20;
    plan.listener = -1;
    plan.control = -1;
    plan.records = open("/dev/null", O_WRONLY | O_CLOEXEC);
    plan.epoll = epoll_create1(EPOLL_CLOEXEC);
    plan.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    plan.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int script = chdir(scratch) < 0 ? -1 : open("script", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (script < 0 || write(script, "#!/bin/sh\necho\n", 15) != 15)
        die_errno("no place to work in");
    close(script);
    if (symlink("/etc", "link") < 0 || symlink("loop", "loop") < 0)
        errno = 0; /* they are there from an earlier turn */
    region = mmap(PLACE, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    memset(long_text, 'l', sizeof long_text - 1);
    if (region == MAP_FAILED)
        die_errno("no memory");
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: fuzz_guard DIRECTORY SEED COUNT [race]");
    scratch = argv[1];
    state = 0x9e3779b97f4a7c15ULL + strtoull(argv[2], NULL, 10);
    prepare();
    pid_t agent = start_agent(argc > 4);
    uint64_t count = strtoull(argv[3], NULL, 10), refused = 0, held = 0, called = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t arguments[6];
        const struct call *call = &calls[below(call_count)];
        if (call->rule == NOTHING || call->rule == NOWAIT || (call->rule == REFUSE && below(20)))
            continue; /* the filter answers these itself, or nothing is read */
        fill(call, arguments);
        damage(arguments);
        holding = !below(20);
        plan.reads = !below(3);
        plan.all_reads = !below(3);
        struct stopped stopped = {i + 1, agent, call, arguments};
        int result = decide(&stopped);
        if (result != HELD && (result < 0 || result > 4095))
            die("%s was answered with %d", call->name, result);
        if (!(i % 64))
            let_go(); /* nobody waits: the answers lead nowhere */
        called++;
        held += result == HELD;
        refused += result > 0;
        write_records(0);
    }
    tell_repeats();
    write_records(1);
    kill(agent, SIGKILL);
    printf("%llu calls, %llu refused, %llu held\n", (unsigned long long)called, (unsigned long long)refused,
           (unsigned long long)held);
    return 0;
}
