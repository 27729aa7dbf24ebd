// What the syscall instruction leaves in rcx and r11, and that the flags survive.
// rounds: 20 3000
#include "guest.h"
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t next, flags, behind, expected;
        __asm__ volatile("lea 1f(%%rip), %3\n\t"
                         "cmp %5, %5\n\tstc\n\t"
                         "mov $110, %%eax\n\tsyscall\n1:\n\t"
                         "mov %%rcx, %0\n\tmov %%r11, %1\n\t"
                         "pushf\n\tpop %2\n\t"
                         : "=&r"(next), "=&r"(flags), "=&r"(behind), "=&r"(expected)
                         : "0"(0), "r"(round)
                         : "rax", "rcx", "r11", "cc", "memory");
        REQUIRE(next == expected);
        REQUIRE(flags == behind);
        sum = mix(sum, flags & 0xcd5);
    }
    return report("clobbered", sum);
}
