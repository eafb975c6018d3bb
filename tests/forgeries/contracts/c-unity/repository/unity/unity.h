/* A small test framework with the interface of Unity: one line of output for each test. */
#ifndef UNITY_H
#define UNITY_H

#include <setjmp.h>
#include <stddef.h>
#include <string.h>

struct unity {
    const char *file;
    const char *test;
    int tests;
    int failures;
    int failed;
    jmp_buf frame;
};

extern struct unity Unity;

void unity_begin(const char *file);
int unity_end(void);
void unity_conclude(int line);
void unity_fail(int line, const char *message);

#define UNITY_BEGIN() unity_begin(__FILE__)
#define UNITY_END() unity_end()
#define RUN_TEST(function)                \
    do {                                  \
        Unity.test = #function;           \
        Unity.failed = 0;                 \
        if (setjmp(Unity.frame) == 0)     \
            function();                   \
        unity_conclude(__LINE__);         \
    } while (0)

#define TEST_ASSERT_MESSAGE(condition, message) \
    do {                                        \
        if (!(condition))                       \
            unity_fail(__LINE__, message);      \
    } while (0)
#define TEST_ASSERT_TRUE(condition) TEST_ASSERT_MESSAGE(condition, "expected true")
#define TEST_ASSERT_FALSE(condition) TEST_ASSERT_MESSAGE(!(condition), "expected false")
#define TEST_ASSERT_NULL(pointer) TEST_ASSERT_MESSAGE((pointer) == NULL, "expected NULL")
#define TEST_ASSERT_EQUAL_INT(expected, actual) TEST_ASSERT_MESSAGE((expected) == (actual), "integers differ")
#define TEST_ASSERT_EQUAL_STRING(expected, actual) \
    TEST_ASSERT_MESSAGE(strcmp((expected), (actual)) == 0, "strings differ")
#define TEST_ASSERT_EQUAL_MEMORY(expected, actual, size) \
    TEST_ASSERT_MESSAGE(memcmp((expected), (actual), (size)) == 0, "bytes differ")

#endif
