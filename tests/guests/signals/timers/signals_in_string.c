// Signals come one after the other in the middle of a repeated string instruction that takes longer than a timer's period.
// rounds: 0 8
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t seen;
static void tick(int signal) { seen += signal == SIGALRM; }

int main(int argc, char **argv)
{
    size_t len = (size_t)16 << 20;
    // Never written: all of it is the page of zeros.
    void *from = mmap(0, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(from != MAP_FAILED);
    signal(SIGALRM, tick);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    uint64_t done = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        void *at = from;
        size_t left = len;
        __asm__ volatile("rep lodsb" : "+S"(at), "+c"(left) : : "rax", "memory");
        done += left == 0 && (char *)at == (char *)from + len;
    }
    setitimer(ITIMER_REAL, &never, 0);
    REQUIRE(seen > 0 || done == 0);
    return report("strings", done);
}
