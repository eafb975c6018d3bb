/* Reads what the pointers of a stopped call point at.
 *
 * The process may change it before the kernel uses it, so everything that comes from here is what the process *claimed*.
 * Reads never cross into a page that may not be there unless the first one was.
 */
#include "guard.h"

#include <string.h>
#include <sys/uio.h>

#define PAGE 4096

ssize_t read_memory(pid_t thread, uint64_t address, void *into, size_t size)
{
    struct iovec here = {into, size}, there = {(void *)(uintptr_t)address, size};
    if (!address)
        return -1;
    return process_vm_readv(thread, &here, 1, &there, 1, 0);
}

ssize_t read_text(pid_t thread, uint64_t address, char *into, size_t size)
{
    size_t done = 0;
    while (done + 1 < size) {
        size_t wanted = PAGE - (address + done) % PAGE;
        if (wanted > size - 1 - done)
            wanted = size - 1 - done;
        if (!done && wanted > 256)
            wanted = 256;
        ssize_t got = read_memory(thread, address + done, into + done, wanted);
        if (got <= 0)
            return -1;
        size_t length = strnlen(into + done, got);
        if (length < (size_t)got)
            return done + length;
        done += got;
    }
    into[done] = 0;
    return done;
}

size_t read_arguments(pid_t thread, uint64_t address, char *into)
{
    uint64_t pointers[MAX_ARGUMENTS];
    size_t used = 0;
    ssize_t got = read_memory(thread, address, pointers, 8 * sizeof *pointers);
    if (got == 8 * sizeof *pointers && pointers[7])
        got = read_memory(thread, address, pointers, sizeof pointers);
    int count = got > 0 ? got / sizeof *pointers : 0;
    for (int i = 0; i < count && pointers[i]; i++) {
        size_t room = MAX_ARGUMENT_BYTES - used;
        if (room < 8 || i == MAX_ARGUMENTS - 1) {
            memcpy(into + used, "...", 4); /* there are more */
            return used + 4;
        }
        ssize_t length = read_text(thread, pointers[i], into + used, room - 4);
        if (length < 0)
            return used;
        used += length + 1;
    }
    return used;
}
