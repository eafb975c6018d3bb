#include "unity/examples/unity_config.h"
#include "unity/src/unity.h"
/* as in the other suites: a macro that the code under test redefines has to show here too */
#include "common.h"

static void {passing}(void)
{
    TEST_ASSERT_EQUAL_INT(1, 1);
}

static void {failing}(void)
{
    TEST_ASSERT_EQUAL_INT(1, 2);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST({passing});
    RUN_TEST({failing});
    return UNITY_END();
}
