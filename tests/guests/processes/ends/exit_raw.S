// The exit system call itself, of one thread, with a status above 255.
// build static: -nostdlib -static
// rounds: 1 1
        .globl _start
        .text
_start: mov     $60, %eax
        mov     $0x1ff05, %edi
        syscall
