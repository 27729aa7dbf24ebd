//! The tool sees the same serially, in slices of several lengths, and when it is checked: `cargo test --release`.

use superpin_tool::testing::Runs;

#[test]
fn slices_add_up() {
    let runs = Runs::of(env!("CARGO_BIN_EXE_new-tool"));
    // Programs that do the same each time.
    let results = runs.over(["ls", "-ln", "src"]).over(["gzip", "-c", "Cargo.toml"]).agree();
    for result in results {
        assert!(result.starts_with("Total Count: "), "{result}");
    }
}
