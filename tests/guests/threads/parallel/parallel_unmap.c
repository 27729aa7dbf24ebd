// Each of four threads maps memory, writes code there, executes it, changes it, executes it again and unmaps it, over and over, while the others do the same.
// build plain: -O1 -pthread
// rounds: 0 400
// order: varies
#include "parallel.h"
#include <sys/mman.h>

enum { THREADS = 4, PAGE = 4096 };

static uint64_t sums[THREADS];
static long work;

static void write_function(unsigned char *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

static uint32_t execute(unsigned char *at)
{
    return ((uint32_t(*)(void))(uintptr_t)at)();
}

static void run(long me)
{
    for (long i = 0; i < work; i++) {
        // Two pages at the same place each time: what is there is always something else.
        unsigned char *at = (unsigned char *)0x10000000000 + me * 0x1000000;
        long got = call(SYS_mmap, (long)at, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        REQUIRE(got == (long)at);
        for (int n = 0; n < 4; n++) {
            unsigned char *function = at + (n & 1) * PAGE + (n & 2) * 16;
            write_function(function, i * 8 + n);
            REQUIRE(execute(function) == (uint32_t)(i * 8 + n));
            write_function(function, i * 8 + n + 4);
            REQUIRE(execute(function) == (uint32_t)(i * 8 + n + 4));
        }
        sums[me] = mix(sums[me], i);
        REQUIRE(call(SYS_munmap, (long)at, 2 * PAGE, 0, 0, 0, 0) == 0);
    }
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    work_together(THREADS, run);
    for (int i = 1; i < THREADS; i++)
        REQUIRE(sums[i] == sums[0]);
    return report("unmapped", sums[0]);
}
