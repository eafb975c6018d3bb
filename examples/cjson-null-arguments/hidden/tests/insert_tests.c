/* Inserting where nothing is missing: refusing everything would also be safe. */
#include <stdlib.h>
#include <string.h>

#include "unity/examples/unity_config.h"
#include "unity/src/unity.h"
#include "common.h"

static void insert_at(int which, const char *expected)
{
    cJSON *array = cJSON_Parse("[1,2]");
    char *printed = NULL;

    TEST_ASSERT_TRUE(cJSON_InsertItemInArray(array, which, cJSON_CreateNumber(7)));
    printed = cJSON_PrintUnformatted(array);
    TEST_ASSERT_EQUAL_STRING(expected, printed);
    free(printed);
    cJSON_Delete(array);
}

static void insert_should_put_an_item_first(void)
{
    insert_at(0, "[7,1,2]");
}

static void insert_should_put_an_item_between_others(void)
{
    insert_at(1, "[1,7,2]");
}

static void insert_should_put_an_item_last(void)
{
    insert_at(2, "[1,2,7]");
}

int CJSON_CDECL main(void)
{
    UNITY_BEGIN();
    RUN_TEST(insert_should_put_an_item_first);
    RUN_TEST(insert_should_put_an_item_between_others);
    RUN_TEST(insert_should_put_an_item_last);
    return UNITY_END();
}
