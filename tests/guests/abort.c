// abort: blocks and unblocks signals, ends by SIGABRT.
// rounds: 1 1
#include "guest.h"

int main(void)
{
    puts("before");
    fflush(stdout);
    abort();
}
