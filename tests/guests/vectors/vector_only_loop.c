// A loop in which only a vector register changes: general registers, flags and memory are the same at each iteration.
// rounds: 1000 10000000
#include "guest.h"

int main(int argc, char **argv)
{
    double limit = rounds(argc, argv), one = 1, sum = 0, quotient;
    __asm__ volatile("1:\n\t"
                     "addsd %2, %0\n\t"
                     "movapd %0, %1\n\t"
                     "divsd %2, %1\n\t"
                     "divsd %2, %1\n\t"
                     "movq %1, %%rax\n\t"
                     "cmpq %3, %%rax\n\t"
                     "movl $0, %%eax\n\t"
                     "jne 1b"
                     : "+x"(sum), "=&x"(quotient)
                     : "x"(one), "m"(limit)
                     : "rax", "cc");
    return report("rounds", (uint64_t)sum);
}
