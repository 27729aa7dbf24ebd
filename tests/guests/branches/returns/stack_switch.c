// Coroutines switched without system calls: `ret` to addresses that no call pushed.
// build fast: -O2 -fno-omit-frame-pointer
// rounds: 50 900000
#include "guest.h"

void switch_stack(void **from, void *to);
__asm__(".text\n.globl switch_stack\nswitch_stack:\n"
        "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "mov %rsp, (%rdi)\n\tmov %rsi, %rsp\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

static void *main_stack, *stacks[3];
static uint64_t sum;
static int current;

static void body(void)
{
    for (int i = 0;; i++) {
        sum = mix(sum, i + current);
        int me = current;
        current = (current + 1) % 3;
        switch_stack(&stacks[me], current == 0 ? main_stack : stacks[current]);
    }
}

int main(int argc, char **argv)
{
    static _Alignas(16) uint64_t memory[3][2048];
    for (int i = 0; i < 3; i++) {
        uint64_t *top = &memory[i][2040];
        top[0] = (uintptr_t)body;
        stacks[i] = top - 6;
    }
    for (long round = 0; round < rounds(argc, argv); round++) {
        current = 0;
        switch_stack(&main_stack, stacks[0]);
    }
    return report("switches", sum);
}
