//! `shadow`: shares that are known are found within their errors, by a run that says that it is a sample, and looks at as many instructions as asked.

use std::fs;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

/// Three quarters of the instructions are `often`'s, all the time.
const SOURCE: &str = "
#define TURNS(n) for (volatile long i = 0; i < n; i++)
__attribute__((noinline)) static void often(void) { TURNS(300); }
__attribute__((noinline)) static void rarely(void) { TURNS(100); }
int main(void) { for (long i = 0; i < 400000; i++) { often(); rarely(); } return 7; }
";

/// As `--sample` has it.
const SAMPLE: u64 = 100_000;

#[test]
fn shares_are_found_within_their_errors() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    fs::write(folder.join("app.c"), SOURCE).unwrap();
    let built = output(Command::new("gcc").args(["-O1", "-o", "app", "app.c"]).current_dir(&folder)).unwrap();
    assert!(built.status.success());
    let words = format!("-sp 1 -spmsec 20 -t shadow --sample {SAMPLE} --json -o shares -- ./app");
    let done =
        output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words.split(' ')).current_dir(&folder)).unwrap();
    assert_eq!(done.status.code(), Some(7), "{}", String::from_utf8_lossy(&done.stderr));
    let told = fs::read_to_string(folder.join("shares")).unwrap();
    assert!(told.contains("\"a sample\""), "{told}");
    let number = |name: &str| {
        let behind = told.split(&format!("\"{name}\":")).nth(1).unwrap_or_else(|| panic!("{told}"));
        behind.split([',', '}']).next().unwrap().parse::<u64>().unwrap()
    };
    let (samples, seen) = (number("samples"), number("instructions"));
    // A sample ends before the block that would make it too long; the last slice may be shorter than one.
    let whole = (samples - 1) * (SAMPLE - 100)..=samples * SAMPLE;
    assert!(whole.contains(&seen), "{seen} in {samples} samples");
    // What was left out nobody has counted: another run has. It is nearly all.
    let words = "-sp 0 -t icount2 -o count -- ./app";
    output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words.split(' ')).current_dir(&folder)).unwrap();
    let count = fs::read_to_string(folder.join("count")).unwrap();
    let all = count.lines().find_map(|line| line.strip_prefix("Total Count: ")).unwrap_or_else(|| panic!("{count}"));
    let all: u64 = all.parse().unwrap();
    assert!(seen < all / 20, "{seen} of {all}");
    let share = |routine: &str| {
        let of =
            told.split('{').find(|part| part.contains(&format!("\"{routine}\""))).unwrap_or_else(|| panic!("{told}"));
        let percent = of.split("\"percent\":").nth(1).unwrap().split([',', '}']).next().unwrap();
        percent.trim().parse::<f64>().unwrap()
    };
    // A sample of 100,000 instructions has some 80 rounds: where it begins in one is a hundredth of it at most.
    let (often, rarely) = (share("often"), share("rarely"));
    assert!((often - 75.0).abs() < 2.0 && (rarely - 25.0).abs() < 2.0, "{often} {rarely}");
}

/// Names are those of the program that was executed, not of the one that took its place.
#[test]
fn each_program_has_its_own_names() {
    let folder = Scratch::new().unwrap();
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec /bin/true";
    let words =
        ["-sp", "1", "-spmsec", "10", "-t", "shadow", "--top", "0", "-o", "shares", "--", "/bin/sh", "-c", script];
    let done = output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words).current_dir(folder.cwd())).unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let told = fs::read_to_string(folder.cwd().join("shares")).unwrap();
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let rows = told.lines().filter(|row| row.ends_with(&format!(" in {}", shell.file_name().unwrap().display())));
    let percent: f64 = rows.map(|row| row.split_whitespace().next().unwrap().parse::<f64>().unwrap()).sum();
    assert!(percent > 20.0, "{told}");
}
