// Two files of code at the same place in turn, with many functions at the same addresses, called through pointers.
// kept: by chance
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { FUNCTIONS = 1024, SPACING = 64, BYTES = FUNCTIONS * SPACING };

static int code_file(const char *name, int twice)
{
    static unsigned char code[BYTES];
    static const unsigned char add[] = {0x48, 0x8d, 0x7f, 0x01}; // lea rdi, [rdi + 1]
    static const unsigned char end[] = {0x48, 0x89, 0xf8, 0xc3}; // mov rax, rdi; ret
    for (int n = 0; n < FUNCTIONS; n++) {
        unsigned char *to = code + n * SPACING;
        for (int i = 0; i < 1 + twice * (1 + n % 3); i++, to += sizeof add)
            memcpy(to, add, sizeof add);
        memcpy(to, end, sizeof end);
    }
    int writing = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    REQUIRE(writing >= 0 && write(writing, code, BYTES) == BYTES && close(writing) == 0);
    int reading = open(name, O_RDONLY);
    REQUIRE(reading >= 0 && unlink(name) == 0);
    return reading;
}

int main(int argc, char **argv)
{
    long times = rounds(argc, argv);
    int calls = times == 1 ? 2 * FUNCTIONS : 30 * times * FUNCTIONS;
    int files[2] = {code_file("once", 0), code_file("twice", 1)};
    unsigned char *place = mmap(0, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place != MAP_FAILED);
    uint64_t sum = 1;
    for (long round = 0; round < 2 * times; round++) {
        int flags = MAP_PRIVATE | MAP_FIXED;
        REQUIRE(mmap(place, BYTES, PROT_READ | PROT_EXEC, flags, files[round % 2], 0) == place);
        for (int i = 0; i < calls; i++) {
            uint64_t (*function)(uint64_t) = (void *)(place + i * 5 % FUNCTIONS * SPACING);
            sum = mix(sum, function(sum));
        }
    }
    return report("swapped", sum);
}
