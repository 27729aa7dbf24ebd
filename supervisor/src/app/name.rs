//! What a process executes.

/// What a process executes, for people: its arguments.
pub fn name_of(pid: i32) -> String {
    const LONGEST: usize = 80;
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let text = words.collect::<Vec<_>>().join(" ");
    text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}
