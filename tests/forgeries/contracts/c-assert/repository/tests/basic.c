#include <assert.h>
#include <string.h>

#include "text.h"

static char out[16];

static void single_spaces(void)
{
    squeeze(out, "good day");
    assert(strcmp(out, "good day") == 0);
}

static void turned(void)
{
    backwards(out, "abc");
    assert(strcmp(out, "cba") == 0);
}

#define TESTS single_spaces, turned
#include "each.h"
