// Code that is written through one view of its memory and executed through another, called again and again between two changes: with flags, registers and blocks of one to
// three bytes that whatever looks at the code has to leave alone.
// kept: by chance
// rounds: 3 3000
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

enum { SHORT = 0, CARRY = 64, REGISTERS = 128, ITSELF = 192, ACROSS = 4096 - 3 };

typedef uint64_t Function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

static unsigned char *writable, *code;

static void put(int at, const char *bytes, int len)
{
    memcpy(writable + at, bytes, len);
}

static uint64_t call(int at, uint64_t a, uint64_t b)
{
    return ((Function *)(void *)(code + at))(a, b, 3, 4, 5, 6);
}

int main(int argc, char **argv)
{
    int fd = memfd_create("code", 0);
    REQUIRE(fd >= 0 && ftruncate(fd, 8192) == 0);
    writable = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    code = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    REQUIRE(writable != MAP_FAILED && code != MAP_FAILED);
    // mov rax, rdi; jmp to a nop and a jump, to a jump, and to a return: blocks of three, two and one bytes
    put(SHORT, "\x48\x89\xf8\xeb\x03\xcc\xcc\xcc\x90\xeb\x02\xcc\xcc\xeb\x02\xcc\xcc\xc3", 18);
    // cmp rdi, rsi; jmp to code that is changed: xor eax, eax; ret or sbb eax, eax; ret
    put(CARRY, "\x48\x39\xf7\xeb\x01\xcc", 6);
    // mov r10, rdi; jmp; lea rax, [rcx + r9 * 2]; jmp; add rax, r10; ret
    put(REGISTERS, "\x49\x89\xfa\xeb\x00\x4a\x8d\x04\x49\xeb\x00\x4c\x01\xd0\xc3", 15);
    // mov [rsi], edi, which is the constant of: mov eax, 0; ret
    put(ITSELF, "\x89\x3e\xb8\x00\x00\x00\x00\xc3", 8);
    uint64_t sum = 0;
    for (int round = 0; round < rounds(argc, argv); round++) {
        put(CARRY + 6, round % 2 ? "\x19\xc0\xc3" : "\x31\xc0\xc3", 3);
        // mov eax, n; ret
        put(ACROSS, "\xb8\x00\x00\x00\x00\xc3", 6);
        memcpy(writable + ACROSS + 1, &round, 4);
        for (int n = 0; n < 20; n++) {
            REQUIRE(call(SHORT, n, 0) == (uint64_t)n);
            REQUIRE(call(CARRY, n, 10) == (round % 2 && n < 10 ? 0xffffffff : 0));
            REQUIRE(call(REGISTERS, n, 0) == (uint64_t)n + 4 + 2 * 6);
            REQUIRE(call(ITSELF, n + round, (uint64_t)(writable + ITSELF + 3)) == (uint64_t)n + round);
            sum = mix(sum, call(ACROSS, 0, 0));
        }
    }
    return report("calls", sum);
}
