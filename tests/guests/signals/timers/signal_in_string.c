// A signal comes in the middle of a long repeated string instruction. It is handled once, whenever that is.
// build fast: -O1
// rounds: 0 400
// totals: vary
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t seen;
static void tick(int signal) { seen += signal == SIGALRM; }

int main(int argc, char **argv)
{
    size_t left = ((size_t)rounds(argc, argv) + 1) << 18;
    // Never written: all of it is the page of zeros.
    void *from = mmap(0, left, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(from != MAP_FAILED);
    signal(SIGALRM, tick);
    struct itimerval once = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_REAL, &once, 0);
    __asm__ volatile("rep lodsb" : "+S"(from), "+c"(left) : : "rax", "memory");
    uint64_t idle = 1;
    // The state never recurs. Long after the time the signal is lost.
    for (long done = 0; seen == 0 && done < 1000000000; done++)
        idle = mix(idle, done);
    REQUIRE(idle != 0);
    return report("signals seen", seen);
}
