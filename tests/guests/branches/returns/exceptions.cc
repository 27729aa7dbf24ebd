// C++ exceptions through several frames, with destructors on the way.
// build dynamic: -O1
// build static: -O2 -static
// rounds: 1 5000
// steps: millions
#include "guest.h"
#include <stdexcept>
#include <string>

static uint64_t sum;

struct Trail {
    int value;
    ~Trail() { sum = mix(sum, value); }
};

static void descend(int depth)
{
    Trail trail{depth};
    if (depth == 0)
        throw std::runtime_error("bottom " + std::to_string(sum % 1000));
    descend(depth - 1);
}

int main(int argc, char **argv)
{
    for (long round = 0; round < rounds(argc, argv); round++) {
        try {
            descend(round % 12 + 1);
        } catch (const std::exception &e) {
            for (const char *c = e.what(); *c; c++)
                sum = mix(sum, *c);
        }
        try {
            throw (int)round;
        } catch (int n) {
            sum += n;
        }
    }
    return report("exceptions", sum);
}
