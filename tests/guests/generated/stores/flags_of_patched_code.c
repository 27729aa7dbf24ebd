// A page of the program's own code is patched: what follows a jump into it overwrites the flags at first, and reads them later.
// rounds: 5 150
#include "guest.h"
#include <sys/mman.h>

long compare(long a, long b);
extern unsigned char patched[];

__asm__(".text\n"
        ".balign 4096\n"
        ".globl patched\n"
        "patched:\n"
        "    xor %eax, %eax\n"
        "    ret\n"
        "    .skip 16, 0x90\n"
        ".balign 4096\n"
        ".globl compare\n"
        "compare:\n"
        "    cmp %rsi, %rdi\n"
        "    jmp 1f\n"
        "1:  lea (%rdi, %rsi), %rdx\n"
        "    jmp patched\n");

static void patch(const unsigned char *code)
{
    REQUIRE(mprotect(patched, 4096, PROT_READ | PROT_WRITE) == 0);
    memcpy(patched, code, 7);
    REQUIRE(mprotect(patched, 4096, PROT_READ | PROT_EXEC) == 0);
}

int main(int argc, char **argv)
{
    const unsigned char below[7] = {0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3}; // setb al; movzx eax, al; ret
    unsigned char zero[7];
    memcpy(zero, patched, 7);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(compare(round, round + 1) == 0);
        patch(below);
        REQUIRE(compare(round, round + 1) == 1);
        REQUIRE(compare(round + 1, round) == 0);
        patch(zero);
        sum = mix(sum, compare(round, 7));
    }
    return report("patched", sum);
}
