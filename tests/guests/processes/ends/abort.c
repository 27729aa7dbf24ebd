// abort: blocks and unblocks signals, ends by SIGABRT.
// rounds: 1 1
// ends: by a signal
#include "guest.h"

int main(void)
{
    puts("before");
    fflush(stdout);
    abort();
}
