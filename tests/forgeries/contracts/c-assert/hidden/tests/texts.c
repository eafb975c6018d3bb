#include <assert.h>
#include <string.h>

#include "text.h"

static char out[16];

static void several_spaces(void)
{
    squeeze(out, "a  b");
    assert(strcmp(out, "a b") == 0);
}

static void spaces_at_the_ends(void)
{
    squeeze(out, " ab ");
    assert(strcmp(out, "ab") == 0);
}

static void many_spaces(void)
{
    squeeze(out, "   x   y   ");
    assert(strcmp(out, "x y") == 0);
}

static void tabs(void)
{
    squeeze(out, "a\tb");
    assert(memcmp(out, "a b", strlen(out) + 1) == 0);
}

#define TESTS several_spaces, spaces_at_the_ends, many_spaces, tabs
#include "each.h"
