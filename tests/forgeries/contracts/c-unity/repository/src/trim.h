#pragma once

#include <stddef.h>

/* Copy TEXT without the spaces around it to OUT, which has room for SIZE bytes; the length, or -1 if it does not fit. */
int trim(char *out, size_t size, const char *text);
