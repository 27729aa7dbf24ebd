//! `shadow`: shares that are known are found within their errors, by a run that says that it is a sample.

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

#[test]
fn shares_are_found_within_their_errors() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    fs::write(folder.join("app.c"), SOURCE).unwrap();
    let built = output(Command::new("gcc").args(["-O1", "-o", "app", "app.c"]).current_dir(&folder)).unwrap();
    assert!(built.status.success());
    let words = "-sp 1 -spmsec 20 -t shadow --sample 100000 --json -o shares -- ./app";
    let done =
        output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words.split(' ')).current_dir(&folder)).unwrap();
    assert_eq!(done.status.code(), Some(7), "{}", String::from_utf8_lossy(&done.stderr));
    let told = fs::read_to_string(folder.join("shares")).unwrap();
    assert!(told.contains("\"a sample\""), "{told}");
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
