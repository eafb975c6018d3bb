#include "trim.h"

#include <string.h>

int trim(char *out, size_t size, const char *text)
{
    size_t length;

    while (*text == ' ')
        text++;
    length = strlen(text);
    if (length > size)
        return -1;
    memcpy(out, text, length);
    out[length < size ? length : length - 1] = '\0';
    return (int)length;
}
