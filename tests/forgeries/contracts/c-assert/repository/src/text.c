#include "text.h"

#include <string.h>

void squeeze(char *out, const char *text)
{
    for (; *text; text++)
        *out++ = *text;
    *out = '\0';
}

void backwards(char *out, const char *text)
{
    size_t length = strlen(text), place;

    for (place = 0; place < length; place++)
        out[place] = text[length - place - 1];
    out[length] = '\0';
}
