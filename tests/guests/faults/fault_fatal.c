// An unhandled fault ends the program by SIGSEGV after it has computed and printed.
// rounds: 10 3000000
// blocks: differ
// ends: by a signal
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = mix(sum, round);
    report("before the fault", sum);
    fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}
