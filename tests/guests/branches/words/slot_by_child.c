// A child of vfork, in its parent's memory, changes a word that can't be written otherwise and that its parent calls through.
// rounds: 1 40
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096 };
typedef uint64_t function(uint64_t);
__attribute__((aligned(PAGE), section(".data"))) static function *slots[PAGE / 8] = {0};
__asm__("calls_slot: jmp *slots(%rip)\n"
        "twice: lea (%rdi, %rdi), %rax\n"
        "ret\n"
        "thrice: lea (%rdi, %rdi, 2), %rax\n"
        "nop\n"
        "ret\n");
function calls_slot, twice, thrice;

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    slots[0] = twice;
    REQUIRE(mprotect(slots, PAGE, PROT_READ) == 0);
    for (volatile long round = 0; round < rounds(argc, argv); round++) {
        for (int i = 0; i < 1000; i++)
            sum = mix(calls_slot(sum), sum);
        pid_t child = vfork();
        if (child == 0) {
            int changes = mprotect(slots, PAGE, PROT_READ | PROT_WRITE) == 0;
            slots[0] = round % 3 ? thrice : twice;
            changes += round % 4 == 0 || mprotect(slots, PAGE, PROT_READ) == 0;
            _exit(changes);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 2);
        for (int i = 0; i < 1000; i++)
            sum = mix(calls_slot(sum), sum);
        if (round % 4 == 0) {
            slots[0] = thrice;
            sum = mix(calls_slot(sum), sum);
            REQUIRE(mprotect(slots, PAGE, PROT_READ) == 0);
        }
    }
    return report("by child", sum);
}
