// The first thread ends at once, and another one does all the work and ends the process.
// build plain: -O1 -pthread
// rounds: 500 300000
// order: varies
#include "threads.h"

static int alive;
static long work;

static void *all(void *unused)
{
    uint64_t sum = 5;
    for (long i = 0; i < work; i++)
        sum = mix(sum, i);
    report("all", sum);
    // Both may run at the same time: the first executes all that it has to before the process ends.
    wait_for_end(&alive);
    exit(5);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    live(&alive);
    start(all, 0);
    end_thread(7);
}
