// An interpreter that dispatches by computed goto: one indirect jump after each small piece of code.
// build fast: -O2
// build plain: -O1 -fno-gcse
// rounds: 5 70000
#include "guest.h"

enum { ADD, MUL, XOR, DUP, SWAP, DROP, JNZ, DEC, END };

int main(int argc, char **argv)
{
    static const void *const labels[] = {&&add, &&mul, &&xor, &&dup, &&swap, &&drop, &&jnz, &&dec, &&end};
    static const unsigned char code[] = {DUP, ADD, SWAP, XOR, DUP, MUL, DROP, DEC, JNZ, END};
    uint64_t sum = 7;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t a = round + 1, b = sum, counter = 100;
        const unsigned char *pc = code;
#define NEXT goto *labels[*pc++]
        NEXT;
    add: a += b + 1; NEXT;
    mul: a *= b | 1; NEXT;
    xor: a ^= b; NEXT;
    dup: b = a; NEXT;
    swap: { uint64_t t = a; a = b; b = t + counter; } NEXT;
    drop: b >>= 1; NEXT;
    dec: counter--; NEXT;
    jnz: if (counter) pc = code; NEXT;
    end: sum = mix(sum, a);
    }
    return report("goto", sum);
}
