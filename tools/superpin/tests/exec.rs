//! Code that comes to the same addresses: of another program that the app becomes, which has its own names and counts; or written over.

use std::fs;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;
use superpin_tool::json::{self, Value};

const LOOP: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";

/// What a tool says of a shell that executes this.
fn told(tool: &str, options: &str, script: &str) -> String {
    let folder = Scratch::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpin"));
    command.args(options.split(' ')).args(["-env", "clean", "-t"]).args(tool.split(' ')).args(["-o", "told", "--"]);
    let done = output(command.args(["/bin/sh", "-c", script]).current_dir(folder.cwd())).unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    fs::read_to_string(folder.cwd().join("told")).unwrap()
}

/// The first number of each line that ends so, added up.
fn count(told: &str, end: &str) -> u64 {
    let rows = told.lines().filter(|row| row.ends_with(end));
    rows.map(|row| row.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn each_program_has_its_own_names() {
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let shell = shell.file_name().unwrap().to_str().unwrap().to_owned();
    for (tool, row) in [("mix --by image", format!("  {shell}")), ("hot --top 0 --each 0", format!(" in {shell}"))] {
        let alone = count(&told(tool, "-sp 0", LOOP), &row);
        let serial = told(tool, "-sp 0", &format!("{LOOP}; exec /bin/true"));
        assert!(alone > 1_000_000 && count(&serial, &row).abs_diff(alone) < alone / 10, "{alone}: {serial}");
        assert_eq!(told(tool, "-sp 1 -spmsec 10", &format!("{LOOP}; exec /bin/true")), serial, "{tool}");
    }
}

/// Two programs at the same addresses, of which the first becomes the second: in each a loop calls a function, which has its own name and goes round its own number of times. They differ in one instruction's condition.
const PROGRAM: &str = "
.globl _start, NAME
_start:
    mov $TIMES, %ebx
1:  call NAME
    dec %ebx
    jnz 1b
    NEXT
    mov $60, %eax
    xor %edi, %edi
    syscall
NAME:
    test $1, %bl
    JUMP 2f
    nop
2:  mov data(%rip), %rax
    ret
.data
path: .string \"./second\"
.balign 8
data: .quad 0
";

/// `first` becomes `second`.
fn programs(folder: &Path) {
    let exec = "lea path(%rip), %rdi\n xor %esi, %esi\n xor %edx, %edx\n mov $59, %eax\n syscall";
    let filler = "lea path(%rip), %rdi\n xor %esi, %esi\n xor %edx, %edx\n mov $59, %eax\n nop\n nop";
    for (program, name, times, next, jump) in
        [("first", "in_first", "1000", exec, "jz"), ("second", "in_second", "3000", filler, "jmp")]
    {
        let words = [("NAME", name), ("TIMES", times), ("NEXT", next), ("JUMP", jump)];
        let source = words.iter().fold(PROGRAM.to_owned(), |source, (word, text)| source.replace(word, text));
        fs::write(folder.join("source.s"), source).unwrap();
        let arguments = ["-nostdlib", "-static", "-no-pie", "-o", program, "source.s"];
        assert!(output(Command::new("gcc").args(arguments).current_dir(folder)).unwrap().status.success());
    }
}

/// What a tool says of them, in words.
fn told_of_programs(tool: &str, options: &str, folder: &Path) -> String {
    let words = format!("{options} -env clean -t {tool} -o told -- ./first");
    let done = output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words.split(' ')).current_dir(folder)).unwrap();
    assert_eq!(done.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    fs::read_to_string(folder.join("told")).unwrap()
}

/// What is theirs.
const EXPECTED: [(&str, &[&str]); 6] = [
    ("stacks", &["_start;in_first 4500\n", "_start;in_second 12000\n", "_start 12016\n"]),
    (
        "edges --top 0",
        &["            4498 taken\n", "             502 not taken\n", " in_first+0x3 -> 0x40102e in_first+0x5\n"],
    ),
    ("callgrind", &["cfn=in_first\ncalls=1000 ", "cfn=in_second\ncalls=3000 "]),
    ("cache --l1d 1K,1,64", &["4500         2000            0 ", "12000         6000            0 "]),
    ("bpred", &[" 0x40102c in_first", "15 0x40100c _start"]),
    ("bbv --interval 100000 --blocks", &[" 1500  in_first\n", " 2999  _start\n"]),
];

#[test]
fn programs_at_the_same_addresses_are_told_apart() {
    let folder = Scratch::new().unwrap();
    programs(&folder.cwd());
    for (tool, expected) in EXPECTED {
        let serial = told_of_programs(tool, "-sp 0", &folder.cwd());
        for line in expected {
            assert_eq!(serial.matches(line).count(), 1, "{tool} {line}: {serial}");
        }
        assert_eq!(told_of_programs(tool, "-sp 1 -spmsec 5", &folder.cwd()), serial, "{tool}");
    }
}

/// Writes a conditional branch over another one, with another target, and executes both.
const REWRITTEN: &str = "
#include <string.h>
#include <sys/mman.h>
static const unsigned char with_one[] = { 0x31, 0xc0, 0x85, 0xff, 0x74, 1, 0x90, 0x90, 0x90, 0xc3 };
int main(void)
{
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int way = 1; way <= 3; way++) {
        memcpy(code, with_one, sizeof with_one);
        code[5] = way;
        for (int i = 0; i < 1000 * way; i++)
            sum += ((int (*)(int))code)(i % (way + 1));
    }
    return sum;
}
";

#[test]
fn branches_at_one_address_are_told_apart() {
    let folder = Scratch::new().unwrap();
    fs::write(folder.cwd().join("rewritten.c"), REWRITTEN).unwrap();
    let built = Command::new("gcc").args(["-O1", "-o", "first", "rewritten.c"]).current_dir(folder.cwd()).output();
    assert!(built.unwrap().status.success());
    let edges = told_of_programs("edges --json --top 0", "-sp 0", &folder.cwd());
    assert_eq!(told_of_programs("edges --json --top 0", "-sp 1 -spmsec 5", &folder.cwd()), edges);
    let edges: Value = json::from_str(&edges).unwrap();
    // Who is called with 0 branches: each second, third, fourth time.
    let taken = |distance: u64| {
        let all = edges["values"]["edges"].as_array().unwrap().iter().filter(|edge| edge["kind"] == "taken");
        let [from, to] = ["from", "to"].map(|end| move |edge: &&Value| edge[end].as_u64().unwrap());
        let here = all.filter(|edge| from(edge) & 0xfff == 4 && to(edge) == from(edge) + 2 + distance);
        here.map(|edge| edge["count"].as_u64().unwrap()).max()
    };
    assert_eq!([1, 2, 3].map(taken), [Some(500), Some(667), Some(750)], "{edges}");
    let branches: Value = json::from_str(&told_of_programs("branches --json", "-sp 0", &folder.cwd())).unwrap();
    let counted = branches["values"]["kinds"].as_array().unwrap();
    for kind in [true, false] {
        let sum: u64 =
            counted.iter().filter(|row| row["taken"] == kind).map(|row| row["count"].as_u64().unwrap()).sum();
        let name = if kind { "taken" } else { "not taken" };
        assert_eq!(edges["values"]["kinds"][name], sum, "{name}");
    }
}
