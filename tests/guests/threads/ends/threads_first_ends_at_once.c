// The first thread ends at once, and another one does all the work and ends the process.
// build plain: -O1 -pthread
// rounds: 500 300000
// order: varies
#include "threads.h"

static long work;

static void *all(void *unused)
{
    uint64_t sum = 5;
    for (long i = 0; i < work; i++)
        sum = mix(sum, i);
    report("all", sum);
    exit(5);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    start(all, 0);
    end_thread(7);
}
