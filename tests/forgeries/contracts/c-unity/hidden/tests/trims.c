#include "unity.h"
#include "trim.h"

static char out[16];

static void trailing_spaces(void)
{
    TEST_ASSERT_EQUAL_INT(2, trim(out, sizeof out, "ab  "));
    TEST_ASSERT_EQUAL_STRING("ab", out);
}

static void tabs_and_lines(void)
{
    trim(out, sizeof out, "\t a b\n");
    TEST_ASSERT_EQUAL_STRING("a b", out);
}

static void only_spaces(void)
{
    TEST_ASSERT_EQUAL_INT(0, trim(out, sizeof out, "    "));
    TEST_ASSERT_EQUAL_INT(0, trim(out, sizeof out, " \t "));
}

static void room_for_the_end(void)
{
    TEST_ASSERT_EQUAL_INT(-1, trim(out, 3, "abc"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(trailing_spaces);
    RUN_TEST(tabs_and_lines);
    RUN_TEST(only_spaces);
    RUN_TEST(room_for_the_end);
    return UNITY_END();
}
