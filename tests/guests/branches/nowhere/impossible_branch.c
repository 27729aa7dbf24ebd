// A branch to an address that nothing can have kills the program. How many instructions it has executed is known where it ran
// natively; a serial run can't tell which branch it was and says so.
// rounds: 0 20000
// blocks: differ
// totals: vary
// refused serial: an address that nothing can have
// ends: by a signal
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = mix(sum, round);
    report("before", sum);
    fflush(stdout);
    __asm__ volatile("mov $0x8000000000001234, %%rax\n\tjmp *%%rax" : : : "rax");
    return 0;
}
