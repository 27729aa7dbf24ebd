// Loops in which only memory changes: registers and the top of the stack are the same at each iteration.
// build fast: -O1
// rounds: 1000 40000000
#include "guest.h"

static uint64_t counter, limit;

int main(int argc, char **argv)
{
    limit = rounds(argc, argv);
    __asm__ volatile("1:\n\t"
                     "incq %0\n\t"
                     "pushq %0\n\tpopq %0\n\t"
                     "movq $0, -8(%%rsp)\n\t"
                     "movq %1, %%rax\n\t"
                     "cmpq %0, %%rax\n\t"
                     "movl $0, %%eax\n\t"
                     "jne 1b"
                     : "+m"(counter)
                     : "m"(limit)
                     : "rax", "cc", "memory");
    return report("counter", counter);
}
