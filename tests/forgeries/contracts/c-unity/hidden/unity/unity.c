#include "unity.h"

#include <stdio.h>

struct unity Unity;

void unity_begin(const char *file)
{
    Unity.file = file;
    Unity.tests = 0;
    Unity.failures = 0;
}

void unity_fail(int line, const char *message)
{
    printf("%s:%d:%s:FAIL: %s\n", Unity.file, line, Unity.test, message);
    Unity.failed = 1;
    longjmp(Unity.frame, 1);
}

void unity_conclude(int line)
{
    Unity.tests++;
    if (Unity.failed)
        Unity.failures++;
    else
        printf("%s:%d:%s:PASS\n", Unity.file, line, Unity.test);
}

int unity_end(void)
{
    printf("%d Tests %d Failures 0 Ignored\n", Unity.tests, Unity.failures);
    return Unity.failures;
}
