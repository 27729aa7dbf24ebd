// Allocates and frees in all the ways that there are; some is left, of which two routines have called for.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *kept[64];
static int count;

__attribute__((noinline)) static void *inner(size_t size)
{
    void *block = malloc(size);
    memset(block, 1, size);
    return block;
}

__attribute__((noinline)) static void *outer(size_t size)
{
    return inner(size * 2);
}

__attribute__((noinline)) static void grow(void)
{
    char *block = 0;
    for (int i = 1; i < 200; i++) {
        block = realloc(block, i * 10);
        block[0] = 1;
    }
    kept[count++] = block;
}

int main(void)
{
    for (int i = 0; i < 5000; i++) {
        void *first = inner(24 + i % 50), *second = outer(16);
        free(first);
        if (i % 500 == 0)
            kept[count++] = second;
        else
            free(second);
    }
    grow();
    void *aligned[2];
    if (posix_memalign(&aligned[0], 64, 1000) != 0 || posix_memalign(&aligned[1], 8, 10) != 0)
        return 1;
    kept[count++] = aligned[0];
    free(aligned[1]);
    // calloc goes on in memset.
    kept[count++] = calloc(100, 100);
    kept[count++] = calloc(10, 7);
    free(aligned_alloc(16, 160));
    free(memalign(4096, 100));
    free(valloc(10));
    kept[count++] = realloc(malloc(10), 0);
    free(reallocarray(0, 10, 20));
    free(strdup("a copy"));
    free(0);
    return 0;
}
