// A far jump to the same code segment, which the translator can't follow: the program goes on, counting is refused.
// build bare: -nostdlib -static
// rounds: 0 1
// refused: far
.globl _start
_start:
    mov $100000, %ecx
1:  dec %ecx
    jnz 1b
    sub $16, %rsp
    lea 2f(%rip), %rax
    mov %eax, (%rsp)
    movl $0x33, 4(%rsp)
    ljmp *(%rsp)
    ud2
2:  mov $1, %eax
    mov $1, %edi
    lea text(%rip), %rsi
    mov $8, %edx
    syscall
    mov $231, %eax
    mov $7, %edi
    syscall
text: .ascii "arrived\n"
