// It writes a little to each of many pages, again and again: after each fork the kernel copies them all.
// rounds: 2 400
#include "guest.h"

enum { PAGE = 4096, PAGES = 4096 };

static uint64_t memory[PAGES][PAGE / sizeof(uint64_t)];

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (uint64_t round = rounds(argc, argv); round > 0; round--)
        for (int page = 0; page < PAGES; page++)
            sum += memory[page][(page + round) % 512] += round + page;
    return report("sum", sum);
}
