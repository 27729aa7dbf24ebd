// Ends by a signal: sent by itself, or raised by an instruction.
// build hup: -O1 -DSENT=SIGHUP
// build int: -O1 -DSENT=SIGINT
// build quit: -O1 -DSENT=SIGQUIT
// build kill: -O1 -DSENT=SIGKILL
// build pipe: -O1 -DSENT=SIGPIPE
// build alrm: -O1 -DSENT=SIGALRM
// build segv: -O1 -DSENT=SIGSEGV
// build rt: -O1 -DSENT=40
// build fpe-raised: -O1 -DRAISED=1
// build ill-raised: -O1 -DRAISED=2
// build trap-raised: -O1 -DRAISED=3
// build gp-raised: -O1 -DRAISED=4
// build jump-raised: -O1 -DRAISED=5
// rounds: 0 20000
// blocks: differ
// ends: by a signal
#include "guest.h"
#include <signal.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++)
        sum = mix(sum, round);
    report("before", sum);
    fflush(stdout);
#ifdef SENT
    raise(SENT);
#else
    switch (RAISED) {
    case 1: __asm__ volatile("xor %%eax, %%eax\n\tdiv %%eax" : : : "eax", "edx"); break;
    case 2: __asm__ volatile("ud2"); break;
    case 3: __asm__ volatile("int3"); break;
    case 4: __asm__ volatile("hlt"); break;
    case 5: __asm__ volatile("xor %%eax, %%eax\n\tjmp *%%rax" : : : "eax"); break;
    }
#endif
    puts("never");
    return 0;
}
