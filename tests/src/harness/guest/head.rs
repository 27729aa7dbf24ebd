//! The head of a source: a source in `tests/guests` starts with a comment in whose lines these words mean something:
//!
//! ```text
//! // One sentence: the behaviour.
//! // build NAME: FLAGS     one executable, built with these flags (default: one, `-O1`, in Rust `-O`); may be repeated
//! // rounds: SMALL LARGE   argument for single-stepped runs (about 100 000 instructions; 0: not single-stepped) and for the others
//! // steps: millions      these are so many that it is single-stepped with SUITE=all only, or when it has changed
//! // needs: FLAG …         CPU flags without which it isn't run
//! // native: may hang      there are machines on which it doesn't end natively: there it is skipped
//! // totals: vary          its native instruction count isn't the same from run to run
//! // children: vary        nor is that of the processes that it starts
//! // order: varies        its instructions come in another order in each run: only their number is the same
//! // blocks: differ        faults inside blocks: counting by block and by instruction differ
//! // warned: WORTH         the results of sliced runs must say that they are worth this, and no more; WORTH by chance: they may
//! // options: WORD …        superpin's options besides those of the mode, or instead of them
//! // refused: TEXT         sliced and serial runs must refuse to count, with a message that contains the text
//! // refused sliced: TEXT  sliced runs must
//! // kept: by chance       it makes files of code, which are others in the next run: what is kept may be of no use
//! // ends: by a signal     natively, too
//! // ends NAME: by a signal   the executable of that name does
//! // counted: by chance    what is refused may by chance be possible
//! // refused serial: TEXT  serial runs must
//! ```

use std::path::Path;
use std::sync::OnceLock;

use super::guest::Guest;
use super::sources::is_rust;

/// Behind what results may be worth: they may be exact, too.
const BY_CHANCE: &str = " by chance";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The guests that a source is, one for each build.
pub fn parse(file: &Path, text: &str) -> Vec<Guest> {
    let stem = file.file_stem().expect("a source has a name").to_string_lossy().into_owned();
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
    let field = |key: &str| head.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
    let rounds: Vec<u64> =
        field("rounds").unwrap_or("1 1").split(' ').map(|n| n.parse().expect("rounds: two numbers")).collect();
    let mut builds: Vec<(String, Vec<String>)> = head
        .iter()
        .filter_map(|line| line.strip_prefix("build ")?.split_once(':'))
        .map(|(name, flags)| (format!("{stem}.{}", name.trim()), words(flags)))
        .collect();
    match builds.as_mut_slice() {
        [] => builds.push((stem, words(if is_rust(file) { "-O" } else { "-O1" }))),
        [only] => only.0 = stem,
        _ => {}
    }
    builds
        .into_iter()
        .map(|(name, flags)| Guest {
            small: (rounds[0] > 0).then_some(rounds[0]),
            large: rounds[1],
            is_killed: {
                let build = name.split_once('.').map(|(_, build)| format!("ends {build}"));
                field("ends").or(build.and_then(|key| field(&key))) == Some("by a signal")
            },
            has_many_steps: field("steps") == Some("millions"),
            may_hang: field("native") == Some("may hang"),
            repeats: field("totals") != Some("vary"),
            children_repeat: field("children") != Some("vary"),
            order_repeats: field("order") != Some("varies"),
            whole_blocks: field("blocks") != Some("differ"),
            warned: field("warned").map(|worth| worth.trim_end_matches(BY_CHANCE).to_owned()),
            warned_by_chance: field("warned").is_some_and(|worth| worth.ends_with(BY_CHANCE)),
            refused: ["refused serial", "refused sliced"].map(|key| field("refused").or(field(key)).map(str::to_owned)),
            bare: file.extension().is_some_and(|e| e == "S"),
            by_chance: field("counted") == Some("by chance"),
            keeps: field("kept") != Some("by chance"),
            options: words(field("options").unwrap_or_default()),
            name,
            source: file.to_owned(),
            flags,
            needs: words(field("needs").unwrap_or_default()),
            built: OnceLock::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_source_says_how_it_is_built_and_run() {
        let text = "// It.\n// build a: -O2 -static\n// build b: -O0\n// rounds: 0 7\n// totals: vary\n// order: varies\n// refused sliced: a word\n// ends b: by a signal\n\nint main;";
        let guests = parse(Path::new("/x/it.c"), text);
        assert_eq!(guests.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["it.a", "it.b"]);
        assert_eq!(guests[0].flags, ["-O2", "-static"]);
        assert_eq!((guests[1].small, guests[1].large), (None, 7));
        assert_eq!(guests.iter().map(|g| g.is_killed).collect::<Vec<_>>(), [false, true]);
        assert!(!guests[0].repeats && !guests[0].order_repeats && guests[0].whole_blocks);
        assert_eq!(guests[0].refused, [None, Some("a word".to_owned())]);
    }

    #[test]
    fn a_source_that_says_nothing_is_one_guest() {
        let guests = parse(Path::new("/x/it.c"), "// It.\nint main;");
        assert_eq!(guests.len(), 1);
        assert_eq!((guests[0].name.as_str(), guests[0].small, guests[0].large), ("it", Some(1), 1));
    }
}
