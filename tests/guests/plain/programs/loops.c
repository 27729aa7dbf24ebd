// Counted loops, nested and with several exits.
// rounds: 2 2000
#include "guest.h"

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (int i = 0; i < 100; i++) {
            int j = 0;
            do {
                sum = mix(sum, i * j);
                if (sum % 97 == 0)
                    break;
                if (sum % 5 == 0)
                    continue;
                sum += 3;
            } while (++j < 60);
        }
    return report("loops", sum);
}
