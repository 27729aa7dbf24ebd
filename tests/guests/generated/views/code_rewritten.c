// A file of code is rewritten in place, as `cp` over a library does, and mapped again at the same address.
// kept: by chance
// rounds: 1 40
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { FUNCTIONS = 64, SPACING = 64, BYTES = FUNCTIONS * SPACING };

/* Functions that return their number, after `nops` instructions. */
static void write_code(int fd, int nops)
{
    static unsigned char code[BYTES];
    for (int n = 0; n < FUNCTIONS; n++) {
        unsigned char *at = code + n * SPACING;
        memset(at, 0x90, nops);
        const unsigned char end[] = {0xb8, n, 0, 0, 0, 0xc3};
        memcpy(at + nops, end, sizeof end);
    }
    REQUIRE(pwrite(fd, code, sizeof code, 0) == sizeof code);
}

int main(int argc, char **argv)
{
    char *place = mmap(0, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("code", O_RDWR | O_CREAT, 0700), reading = open("code", O_RDONLY);
    uint64_t sum = 0;
    REQUIRE(place != MAP_FAILED && fd >= 0 && reading >= 0);
    for (uint64_t round = 0; round < rounds(argc, argv); round++) {
        write_code(fd, 1 + round % 3 * 7);
        REQUIRE(mmap(place, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, reading, 0) == place);
        for (int times = 0; times < 200; times++)
            for (int n = 0; n < FUNCTIONS; n++)
                sum += ((int (*)(void))(place + n * SPACING))();
        REQUIRE(mmap(place, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
