// Generated code that runs across a page border, one page of it written again and again.
// rounds: 2 300
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    unsigned char *code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    // mov $imm32, %eax lies on both pages; add %edi, %eax; ret
    unsigned char *straddling = code + 4096 - 3;
    straddling[0] = 0xb8;
    memcpy(straddling + 5, "\x01\xf8\xc3", 3);
    // On the first page: lea (%rdi,%rdi), %eax; ret
    memcpy(code, "\x8d\x04\x3f\xc3", 4);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint32_t value = round * 77;
        // The first page's code is translated, and so protected, before the second page's.
        sum = mix(sum, ((int (*)(int))code)(round));
        memcpy(straddling + 1, &value, 4);
        for (int i = 0; i < 20; i++)
            sum = mix(sum, ((int (*)(int))straddling)(i));
        straddling[8 + round % 1000] = round; // behind the code, on the second page
        sum = mix(sum, ((int (*)(int))straddling)(1) + ((int (*)(int))code)(2));
    }
    return report("across pages", sum);
}
