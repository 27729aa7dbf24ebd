// A code generator with two views of the same memory: one to write through, one to execute.
// kept: by chance
// rounds: 3 60
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    int fd = memfd_create("code", 0);
    REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0);
    unsigned char *writable = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    REQUIRE(writable != MAP_FAILED && code != MAP_FAILED);
    uint64_t sum = 0;
    for (int round = 0; round < rounds(argc, argv); round++) {
        writable[0] = 0xb8; // mov eax, n; ret
        memcpy(writable + 1, &round, 4);
        writable[5] = 0xc3;
        int value = ((int (*)(void))code)();
        REQUIRE(value == round);
        sum = mix(sum, value);
    }
    return report("views", sum);
}
