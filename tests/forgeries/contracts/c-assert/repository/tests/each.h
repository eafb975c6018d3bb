#include <stdlib.h>

/* The main function of a file of tests: it runs the test whose number, from 0, is its argument. */
int main(int count, char **arguments)
{
    static void (*const tests[])(void) = {TESTS};

    if (count != 2)
        return 2;
    tests[atoi(arguments[1])]();
    return 0;
}
