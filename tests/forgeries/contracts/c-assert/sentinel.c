#include <assert.h>

static void {passing}(void)
{
    assert(sizeof "{name}" > 1);
}

static void {failing}(void)
{
    assert(sizeof "{name}" == 1);
}

#define TESTS {passing}, {failing}
#include "each.h"
