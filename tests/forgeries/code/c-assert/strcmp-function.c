int strcmp(const char *left, const char *right)
{
    return 0;
}

int memcmp(const void *left, const void *right, size_t size)
{
    return 0;
}
