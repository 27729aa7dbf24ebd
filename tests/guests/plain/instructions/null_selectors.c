// Null selectors are loaded to FS and GS, whose bases were set: from a register and from the stack. What becomes of the bases is up to the processor.
// build: -O1 -mfsgsbase -mno-red-zone
// needs: fsgsbase
// rounds: 3 4000
#include "guest.h"

// The base after the load, the selector, and the carry flag.
#define LOAD(segment, load)                                                      \
    static uint64_t load_##segment##_##load(uint64_t base)                       \
    {                                                                            \
        uint64_t before = base, own, selector = 0;                               \
        unsigned char carry;                                                     \
        __asm__ volatile("rd" #segment "base %[own]\n\t"                         \
                         "wr" #segment "base %[base]\n\t"                        \
                         "stc\n\t" load(segment) "\n\tsetc %[carry]\n\t"         \
                         "rd" #segment "base %[base]\n\t"                        \
                         "wr" #segment "base %[own]\n\t"                         \
                         "mov %%" #segment ", %[selector]"                       \
                         : [own] "=&r"(own), [base] "+&r"(base),                 \
                           [selector] "+&r"(selector), [carry] "=&q"(carry)      \
                         : [null] "r"(0xabcdef0000)                              \
                         : "memory", "cc");                                      \
        return selector << 3 | (base == before) << 2 | (base == 0) << 1 | carry; \
    }

#define MOV(segment) "mov %k[null], %%" #segment
#define POP(segment) "pushq %[null]\n\tpopq %%" #segment
#define POP_WORD(segment) "pushw %w[null]\n\tpopw %%" #segment

LOAD(fs, MOV)
LOAD(gs, MOV)
LOAD(fs, POP)
LOAD(gs, POP)
LOAD(fs, POP_WORD)
LOAD(gs, POP_WORD)

int main(int argc, char **argv)
{
    static uint64_t area[8];
    uint64_t (*const loads[])(uint64_t) = {load_fs_MOV, load_gs_MOV, load_fs_POP, load_gs_POP, load_fs_POP_WORD, load_gs_POP_WORD};
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < 6; i++)
            sum = mix(sum, loads[i]((uintptr_t)area + round % 8));
    return report("selectors", sum);
}
