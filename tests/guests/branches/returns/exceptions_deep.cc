// A C++ exception thrown through thousands of frames, each with a destructor, caught and thrown again on the way.
// build default: -O1 -static-pie
// rounds: 12 4000
#include "guest.h"
#include <stdexcept>
#include <string>

static long alive, ended, rethrown;

struct Counted {
    long number;
    explicit Counted(long n) : number(n) { alive++; }
    ~Counted()
    {
        // From the innermost outwards.
        REQUIRE(number == alive);
        alive--;
        ended++;
    }
};

struct Bottom : std::runtime_error {
    long depth;
    explicit Bottom(long d) : std::runtime_error("bottom " + std::to_string(d)), depth(d) {}
};

static __attribute__((noinline)) uint64_t descend(long depth, long most)
{
    Counted counted(depth);
    if (depth == most)
        throw Bottom(depth);
    if (depth % 5 == 0) {
        try {
            return descend(depth + 1, most) + depth;
        } catch (const Bottom &bottom) {
            // The frames inside are gone, those outside aren't.
            REQUIRE(alive == depth && ended == bottom.depth - depth);
            rethrown++;
            if (depth % 10 == 0)
                throw;
            throw Bottom(bottom);
        }
    }
    if (depth % 5 == 2) {
        try {
            return descend(depth + 1, most) * 3;
        } catch (const std::logic_error &) { // never
            return 0;
        }
    }
    return descend(depth + 1, most) + 1;
}

int main(int argc, char **argv)
{
    long most = rounds(argc, argv);
    for (int again = 0; again < 3; again++) {
        std::string told;
        ended = rethrown = 0;
        try {
            descend(1, most);
        } catch (const std::exception &e) {
            told = e.what();
        }
        REQUIRE(told == "bottom " + std::to_string(most));
        REQUIRE(alive == 0 && ended == most && rethrown == (most - 1) / 5);
    }
    return report("deep", ended);
}
