#include "unity.h"

static void {passing}(void)
{
    TEST_ASSERT_EQUAL_INT(1, 1);
}

static void {failing}(void)
{
    TEST_ASSERT_EQUAL_INT(1, 2);
}

static void {failing2}(void)
{
    TEST_ASSERT_EQUAL_STRING("{name}", "{failing2}");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST({passing});
    RUN_TEST({failing});
    RUN_TEST({failing2});
    return UNITY_END();
}
