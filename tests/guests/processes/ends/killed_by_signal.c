// Ends itself with SIGTERM, whose action is the default one.
// rounds: 1 1
// ends: by a signal
#include "guest.h"
#include <signal.h>

int main(void)
{
    puts("before");
    fflush(stdout);
    kill(getpid(), SIGTERM);
    puts("never");
    return 0;
}
