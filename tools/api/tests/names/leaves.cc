// Functions that are left otherwise than by a return instruction: by an exception, a long jump, a jump to another function.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static std::jmp_buf back;

extern "C" void counted(void);
__asm__(".text\n.globl counted\n.type counted, @function\ncounted: mov $500, %ecx\n1: dec %ecx\njnz 1b\nret\n.size counted, . - counted");
// Ends by a jump.
extern "C" void jumps(void);
__asm__(".text\n.globl jumps\n.type jumps, @function\njumps: nop\njmp counted\n.size jumps, . - jumps");

extern "C" __attribute__((noinline)) void throws_deep(int depth) {
    if (depth == 0)
        throw 7;
    throws_deep(depth - 1);
    getppid();
}

extern "C" __attribute__((noinline)) void leaps(int depth) {
    counted();
    if (depth == 0)
        std::longjmp(back, 1);
    leaps(depth - 1);
    getppid();
}

extern "C" __attribute__((noinline)) void caught(void) {
    try {
        throws_deep(5);
    } catch (int) {
        getppid();
    }
}

int main(int argc, char **argv) {
    alarm(120);
    volatile int rounds = argc > 1 ? atoi(argv[1]) : 1;
    while (rounds > 0) {
        rounds = rounds - 1;
        caught();
        if (setjmp(back) == 0)
            leaps(6);
        jumps();
    }
    puts("done");
    return 0;
}
