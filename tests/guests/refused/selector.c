// A selector of a segment that there is is loaded to GS: counting is refused, the program itself comes to its right end.
// rounds: 0 3
// refused: of selectors only 0 can be loaded
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned selector;
        __asm__ volatile("mov %%ss, %0\n\tmov %0, %%gs\n\txor %0, %0\n\tmov %%gs, %0" : "=&r"(selector));
        sum = mix(sum, selector);
    }
    return report("selector", sum);
}
