// Code that is generated in shared anonymous memory: written again there, through another mapping, and by a child.
// rounds: 3 2000
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

// mov eax, value; ret
static void write_code(unsigned char *at, unsigned value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

static unsigned call(unsigned char *at)
{
    return ((unsigned (*)(void))(void *)at)();
}

int main(int argc, char **argv)
{
    long many = rounds(argc, argv);
    int any = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *code = mmap(0, 8192, any, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    uint64_t sum = 0;
    for (unsigned value = 1; value <= 5; value++) {
        write_code(code, value);
        for (long n = 0; n < many; n++)
            sum = mix(sum, call(code));
    }
    // As compilers do it that keep code unwritable.
    unsigned char *guarded = code + 4096;
    for (unsigned value = 11; value <= 13; value++) {
        REQUIRE(mprotect(guarded, 4096, PROT_READ | PROT_WRITE) == 0);
        write_code(guarded, value);
        REQUIRE(mprotect(guarded, 4096, PROT_READ | PROT_EXEC) == 0);
        for (long n = 0; n < many; n++)
            sum = mix(sum, call(guarded));
    }
    REQUIRE(call(code) == 5 && call(guarded) == 13);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        write_code(code, 100);
        mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
        write_code(guarded, 101);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(call(code) == 100 && call(guarded) == 101);
    // What is mapped after that is this process's alone again.
    unsigned char *later = mmap(0, 4096, any, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(later != MAP_FAILED);
    write_code(later, 20);
    for (long n = 0; n < many; n++)
        sum = mix(sum, call(later));
    unsigned char *again = mremap(later, 0, 4096, MREMAP_MAYMOVE);
    REQUIRE(again != MAP_FAILED && again != later);
    for (unsigned value = 21; value < 24; value++) {
        write_code(again, value);
        REQUIRE(call(later) == value && call(again) == value);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
