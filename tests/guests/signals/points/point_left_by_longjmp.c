// Handlers of signals that come in the midst of the code are left by siglongjmp; the loop begins where it was told to.
// rounds: 0 8000000
// totals: vary
#include "points.h"
#include <setjmp.h>

static sigjmp_buf out;
static volatile long done;
static volatile uint64_t sum = 1;

static void jumps(int signal)
{
    tick(signal);
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    handles(SIGALRM, 0, jumps);
    // No signal comes before it is known where to go.
    if (sigsetjmp(out, 1) == 0)
        every(5 * OFTEN);
    uint64_t checked = 0;
    while (done < rounds(argc, argv)) {
        checked = mix(checked, done);
        done++;
    }
    every(0);
    for (long i = 0; i < 1000; i++)
        sum = mix(sum, i);
    REQUIRE(checked != 1);
    return report("left", sum + done);
}
