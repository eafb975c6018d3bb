#include "unity.h"
#include "trim.h"

static char out[16];

static void leading_spaces(void)
{
    TEST_ASSERT_EQUAL_INT(2, trim(out, sizeof out, "  ab"));
    TEST_ASSERT_EQUAL_STRING("ab", out);
}

static void no_spaces(void)
{
    TEST_ASSERT_EQUAL_INT(1, trim(out, sizeof out, "x"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(leading_spaces);
    RUN_TEST(no_spaces);
    return UNITY_END();
}
