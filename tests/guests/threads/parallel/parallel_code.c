// Four threads come to the same new code at the same time, and then to other code, of which more and more is made: it is translated, linked and, where there is little room, dropped while others execute it.
// build plain: -O1 -pthread
// rounds: 0 30
// order: varies
#include "parallel.h"
#include <sys/mman.h>

enum { THREADS = 4, FUNCTIONS = 4000, BYTES = 32 };

static unsigned char *code;
static uint64_t sums[THREADS];
static long work;

// lea rax, [rdi + n]; test edi, 1; je +1; nop; jmp to the next one, or ret
static void write_function(int n)
{
    unsigned char *at = code + n * BYTES;
    static const unsigned char start[] = { 0x48, 0x8d, 0x87 };
    memcpy(at, start, 3);
    memcpy(at + 3, &n, 4);
    static const unsigned char test[] = { 0xf7, 0xc7, 1, 0, 0, 0, 0x74, 1, 0x90, 0x48, 0x89, 0xc7 };
    memcpy(at + 7, test, sizeof test);
    int end = 7 + sizeof test;
    if (n % 8 == 7) {
        at[end] = 0xc3;
    } else {
        at[end] = 0xe9;
        int displacement = BYTES - end - 5;
        memcpy(at + end + 1, &displacement, 4);
    }
}

static void run(long me)
{
    for (long i = 0; i < work; i++)
        for (int n = 0; n < FUNCTIONS; n++) {
            uint64_t (*function)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)(code + n * BYTES);
            sums[me] = mix(sums[me], function(2 * i));
        }
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    code = mmap(0, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    for (int n = 0; n < FUNCTIONS; n++)
        write_function(n);
    REQUIRE(mprotect(code, FUNCTIONS * BYTES, PROT_READ | PROT_EXEC) == 0);
    work_together(THREADS, run);
    for (int i = 1; i < THREADS; i++)
        REQUIRE(sums[i] == sums[0]);
    return report("code", sums[0]);
}
