// Handlers run on a stack of their own, among the program's data, and signals come there, too.
// rounds: 0 8000000
// totals: vary
#include "points.h"

static struct {
    volatile uint64_t before;
    char stack[65536];
    volatile uint64_t behind;
} own;

static void works(int signal)
{
    tick(signal);
    uint64_t sum = own.before;
    for (int i = 0; i < 3000; i++) {
        own.before += i & 1;
        own.behind += i & 3;
        sum = mix(sum, own.behind);
    }
    REQUIRE(sum != 1);
}

static void nested(int signal)
{
    REQUIRE(signal == SIGVTALRM);
    own.behind++;
}

int main(int argc, char **argv)
{
    stack_t other = {.ss_sp = own.stack, .ss_size = sizeof own.stack};
    REQUIRE(sigaltstack(&other, 0) == 0);
    handles(SIGALRM, SA_ONSTACK, works);
    handles(SIGVTALRM, SA_ONSTACK, nested);
    every(2 * OFTEN);
    struct itimerval interval = {{0, 4000}, {0, 4000}};
    REQUIRE(setitimer(ITIMER_VIRTUAL, &interval, 0) == 0);
    uint64_t sum = 1;
    for (long i = 0; i < rounds(argc, argv); i++)
        sum = mix(sum, i);
    every(0);
    interval = (struct itimerval){{0, 0}, {0, 0}};
    REQUIRE(setitimer(ITIMER_VIRTUAL, &interval, 0) == 0);
    return report("on another stack", sum);
}
