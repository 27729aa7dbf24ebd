// Calls the old vsyscall page by an address that it computes: a serial run makes the calls, a sliced run can't know of them and says so.
// rounds: 0 20
// totals: vary
// refused sliced: vsyscall
#include "guest.h"

int main(int argc, char **argv)
{
    volatile uint64_t pages = 0xffffffffff600;
    for (long round = 0; round < rounds(argc, argv); round++)
        REQUIRE(((long (*)(long *))(pages << 12 | 0x400))(0) > 0);
    puts("the page answers");
    return 0;
}
