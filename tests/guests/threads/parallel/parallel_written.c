// Four threads write data and code on a page from which all of them execute, each what is its own.
// build plain: -O1 -pthread
// rounds: 0 3000
// order: varies
#include "parallel.h"
#include <sys/mman.h>

enum { THREADS = 4, PART = 256 };

static unsigned char *page;
static long work;

// mov eax, value; add dword [rip + 58], 1; ret: it counts its own calls in the word behind it.
static void write_function(unsigned char *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    static const unsigned char add[] = { 0x83, 0x05, 64 - 12, 0, 0, 0, 1, 0xc3 };
    memcpy(at + 5, add, sizeof add);
}

static void run(long me)
{
    unsigned char *mine = page + me * PART;
    volatile uint64_t *data = (volatile uint64_t *)(mine + 128);
    for (long i = 0; i < work; i++) {
        if (i % 16 == 0)
            write_function(mine, i);
        uint32_t value = ((uint32_t(*)(void))(uintptr_t)mine)();
        REQUIRE(value == (uint32_t)(i & ~15));
        *data += value;
    }
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    work_together(THREADS, run);
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(*(uint32_t *)(page + i * PART + 64) == (uint32_t)work);
        sum = mix(sum, *(uint64_t *)(page + i * PART + 128));
    }
    return report("written", sum);
}
