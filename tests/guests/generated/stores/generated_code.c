// A small code generator: hundreds of functions in mapped memory, called, unmapped, and others generated at the same place.
// rounds: 1 8
#include "guest.h"
#include <sys/mman.h>

static unsigned char *emit_function(unsigned char *p, unsigned seed)
{
    *p++ = 0x89, *p++ = 0xf8; // mov eax, edi
    for (unsigned i = 0; i < seed % 23 + 3; i++) {
        uint32_t constant = seed * 2654435761u + i;
        *p++ = i % 3 == 0 ? 0x05 : i % 3 == 1 ? 0x35 : 0x2d; // add, xor, sub eax, constant
        memcpy(p, &constant, 4);
        p += 4;
        if (i % 7 == 6)
            *p++ = 0xa8, *p++ = 1, *p++ = 0x74, *p++ = 2, *p++ = 0xff, *p++ = 0xc0; // test al, 1; jz over; inc eax
    }
    *p++ = 0xc3;
    return p;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        size_t size = 64 << 10;
        unsigned char *code = mmap((void *)0x700000000000, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), *p = code, *starts[200];
        REQUIRE(code != MAP_FAILED);
        for (int i = 0; i < 200; i++) {
            starts[i] = p;
            p = emit_function(p, i + round * 1000);
        }
        REQUIRE(mprotect(code, size, PROT_READ | PROT_EXEC) == 0);
        for (int i = 0; i < 2000; i++)
            sum = mix(sum, ((unsigned (*)(unsigned))starts[i * 7 % 200])(i));
        REQUIRE(munmap(code, size) == 0);
    }
    return report("generated", sum);
}
