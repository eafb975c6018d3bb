/* Messages for the harness, and the form in which it hands over lists of bytes.
 *
 * A list travels as a descriptor (a memfd) that holds words, each ended by a NUL. Paths, arguments and variables may
 * hold any other byte and have any length.
 */
#include "modes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vdprintf(2, format, list);
    va_end(list);
    dprintf(2, "\n");
    _exit(70);
}

void die_errno(const char *format, ...)
{
    int error = errno;
    va_list list;
    va_start(list, format);
    vdprintf(2, format, list);
    va_end(list);
    dprintf(2, ": %s\n", strerror(error));
    _exit(70);
}

int read_words(int fd, struct words *words)
{
    struct stat information;
    if (fstat(fd, &information) < 0)
        return -1;
    size_t size = information.st_size;
    char *data = malloc(size + 1);
    if (!data)
        return -1;
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, data + done, size - done, done);
        if (got <= 0) {
            if (got < 0 && errno == EINTR)
                continue;
            if (got == 0)
                errno = EIO;
            free(data);
            return -1;
        }
        done += got;
    }
    data[size] = 0;
    *words = (struct words){data, size, 0};
    return 0;
}

char *next_word(struct words *words)
{
    if (words->next >= words->size)
        return NULL;
    char *word = words->data + words->next;
    words->next += strlen(word) + 1;
    return word;
}

long long number(const char *text)
{
    if (!text || !*text || strlen(text) > 18)
        return -1;
    long long value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value;
}

void keep_only(const int *kept, int count)
{
    unsigned first = 3;
    for (;;) {
        unsigned next = ~0U;
        for (int i = 0; i < count; i++)
            if (kept[i] >= (int)first && (unsigned)kept[i] < next)
                next = kept[i];
        if (next > first && close_range(first, next == ~0U ? ~0U : next - 1, 0) < 0)
            die_errno("cannot close descriptors");
        if (next == ~0U)
            return;
        first = next + 1;
    }
}
