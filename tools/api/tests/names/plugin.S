# A library with a routine of 2002 instructions, and one that no symbol names.
    .text
    .globl work
    .type work, @function
work:
    mov $1000, %ecx
1:  dec %ecx
    jnz 1b
    call .Lnameless
    ret
    .size work, . - work

    .p2align 4
.Lnameless:
    mov $10, %ecx
1:  dec %ecx
    jnz 1b
    ret

    .section .note.GNU-stack, "", @progbits
