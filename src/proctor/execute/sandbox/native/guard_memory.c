/* Reads what the pointers of a stopped call point at.
 *
 * The process may change it before the kernel uses it, so everything that comes from here is what the process *claimed*.
 * Reads of texts and lists never cross into a page that may not be there unless the first one was. What cannot be read
 * here may still be readable for the kernel, such as secret memory: so the caller must refuse the call.
 */
#include "guard.h"

#include <string.h>
#include <sys/uio.h>

#define PAGE 4096
#define POINTERS 64

int read_memory(pid_t thread, uint64_t address, void *into, size_t size)
{
    struct iovec here = {into, size}, there = {(void *)(uintptr_t)address, size};
    return address && process_vm_readv(thread, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -1;
}

/* Cuts the pieces off at `size` bytes. */
ssize_t read_pieces(pid_t thread, struct iovec *pieces, size_t count, void *into, size_t size)
{
    size_t wanted = 0, used = 0;
    for (; used < count && wanted < size; used++) {
        if (pieces[used].iov_len > size - wanted)
            pieces[used].iov_len = size - wanted;
        wanted += pieces[used].iov_len;
    }
    struct iovec here = {into, wanted};
    return !wanted || process_vm_readv(thread, &here, 1, pieces, used, 0) == (ssize_t)wanted ? (ssize_t)wanted : -1;
}

ssize_t read_text(pid_t thread, uint64_t address, char *into, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t wanted = PAGE - (address + done) % PAGE;
        if (wanted > size - done)
            wanted = size - done;
        if (!done && wanted > 256)
            wanted = 256;
        if (read_memory(thread, address + done, into + done, wanted) < 0)
            return -1;
        size_t length = strnlen(into + done, wanted);
        done += length;
        if (length < wanted)
            return done;
    }
    return size;
}

/* Ends the words with a mark, because there is more than was read; a word that was cut ends in it. */
static ssize_t cut(char *into, size_t used, size_t *whole)
{
    *whole = used;
    memcpy(into + used, ARGUMENTS_CUT, sizeof ARGUMENTS_CUT);
    return used + sizeof ARGUMENTS_CUT;
}

ssize_t read_arguments(pid_t thread, uint64_t address, char *into, size_t *whole)
{
    uint64_t pointers[POINTERS];
    size_t used = 0, count = 0, next = 0;
    for (int i = 0; address; i++) {
        if (next == count) {
            count = (PAGE - address % PAGE) / sizeof *pointers;
            count = count < 1 ? 1 : count > POINTERS ? POINTERS : count;
            if (read_memory(thread, address, pointers, count * sizeof *pointers) < 0)
                return -1;
            address += count * sizeof *pointers;
            next = 0;
        }
        uint64_t pointer = pointers[next++];
        size_t room = MAX_ARGUMENT_BYTES - used;
        if (!pointer)
            break;
        if (room <= sizeof ARGUMENTS_CUT || i == MAX_ARGUMENTS - 1)
            return cut(into, used, whole);
        ssize_t length = read_text(thread, pointer, into + used, room - sizeof ARGUMENTS_CUT);
        if (length < 0)
            return -1;
        used += length;
        if (length == (ssize_t)(room - sizeof ARGUMENTS_CUT))
            return cut(into, used, whole);
        into[used++] = 0;
    }
    *whole = used;
    return used;
}
