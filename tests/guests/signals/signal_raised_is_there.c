// A signal that a program sends itself has been handled when the call returns, however many signals there have been.
// rounds: 3 3000
#include "guest.h"
#include <signal.h>
#include <unistd.h>

static volatile long handled;

static void count(int signal)
{
    handled++;
    (void)signal;
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, count);
    signal(SIGUSR2, count);
    long late = 0, sent = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        kill(getpid(), SIGUSR1);
        late += handled != ++sent;
        kill(getpid(), SIGUSR2);
        late += handled != ++sent;
        // A little work in between, of which slices end.
        for (volatile int i = 0; i < 4000; i++)
            ;
    }
    return report("late", late);
}
