// Threads in the same loop, with the same registers but for their stacks: where a turn ends it is theirs alone.
// build plain: -O1 -pthread
// rounds: 300 60000000
// order: varies
#include "threads.h"

enum { THREADS = 3 };

static int alive[THREADS + 1], begun[2];
static long work;

static void *count(void *number)
{
    live(&alive[(uintptr_t)number]);
    give(begun, 1);
    __asm__ volatile("push %%rbx\n\tpush %%rbp\n\t"
                     "xor %%ebx, %%ebx\n\txor %%ebp, %%ebp\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
                     "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"
                     "xor %%r12d, %%r12d\n\txor %%r13d, %%r13d\n\txor %%r14d, %%r14d\n\txor %%r15d, %%r15d\n\t"
                     "mov %0, %%rax\n"
                     "1: dec %%rax\n\tjne 1b\n\t"
                     "pop %%rbp\n\tpop %%rbx"
                     :
                     : "m"(work)
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
    return end_thread(0);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    REQUIRE(pipe(begun) == 0);
    for (int i = 1; i <= THREADS; i++)
        start(count, i);
    uint64_t sum = 0;
    for (int i = 1; i <= THREADS; i++)
        sum += take(begun);
    for (int i = 1; i <= THREADS; i++)
        wait_for_end(&alive[i]);
    report("the same", sum);
    return 0;
}
