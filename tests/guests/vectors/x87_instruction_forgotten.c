// A program that computes with where its last x87 instruction was: a processor may forget that while a call waits, and then it is chance.
// build default: -O1
// rounds: 20 60
// refused sliced: last x87 instruction
// counted: by chance
#include "guest.h"
#include <fcntl.h>
#include <time.h>

struct environment {
    uint32_t words[7];
};

static double number = 1.5;
static int whole;

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    int null = open("/dev/null", O_WRONLY);
    REQUIRE(null >= 0);
    for (long i = 0; i < amount; i++) {
        struct environment e;
        double x = number;
        __asm__ volatile("fldl %1\n\tfistpl %0" : "=m"(whole) : "m"(x));
        struct timespec moment = {0, 100000};
        nanosleep(&moment, 0);
        __asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(e));
        char is_known = e.words[3] != 0;
        REQUIRE(write(null, &is_known, 1) == 1);
    }
    return report("whole", whole);
}
