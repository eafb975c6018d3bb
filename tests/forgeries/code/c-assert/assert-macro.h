#define NDEBUG
#include <assert.h>
