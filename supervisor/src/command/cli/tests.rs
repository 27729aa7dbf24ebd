use super::*;

const TOOLS: [ToolInfo; 1] = [ToolInfo {
    name: "icount2",
    about: "Counts",
    check: |_, _| Ok(()),
    identity: |options| format!("{options:?}"),
    help: || "icount2 help".into(),
    wants_prefix: false,
    has_first_pass: false,
    changes_app: false,
    writes_stream: false,
    samples: false,
    sees: |_| None,
}];

fn parse_text(line: &str) -> Result<Request, String> {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(&args, &TOOLS)
}

fn run(line: &str) -> Settings {
    match parse_text(line) {
        Ok(Request::Run(settings)) => *settings,
        other => panic!("{other:?}"),
    }
}

fn length(milliseconds: u64) -> SliceLength {
    SliceLength::Fixed(std::time::Duration::from_millis(milliseconds))
}

#[test]
fn the_papers_spelling() {
    let s = run("-sp 1 -spmsec 200 -spmp 4 -spsysrecs 0 -t icount2 -- gzip -9 -sp 7");
    assert!(s.sliced);
    assert_eq!((s.slice_length, s.max_running, s.call_limit), (length(200), 4, CallLimit::Calls(0)));
    assert_eq!(s.app, ["gzip", "-9", "-sp", "7"]);
    assert!(s.tool_options().is_empty());
}

/// What clap asserts of a command, where it asserts: in builds with debug assertions.
#[test]
fn only_options_with_values_take_negative_numbers() {
    let takes = |arg: &clap::Arg| arg.get_action().takes_values();
    let wrong = |arg: &clap::Arg| arg.is_allow_negative_numbers_set() && !takes(arg);
    let mut command = command();
    command.build();
    assert!(command.get_arguments().any(|arg| arg.is_allow_negative_numbers_set()));
    assert_eq!(
        command.get_arguments().filter(|arg| wrong(arg)).map(|arg| arg.get_id().to_string()).collect::<Vec<_>>(),
        [""; 0]
    );
}

#[test]
fn defaults() {
    let s = run("-t icount2 -- ls");
    assert!(!s.sliced && !s.randomise && s.linking && s.sharing);
    assert_eq!((s.slice_length, s.max_running, s.call_limit), (SliceLength::Auto, 8, CallLimit::Stops(1000)));
    assert_eq!((s.trace_blocks, s.trace_instructions), (5, 64));
}

#[test]
fn what_follows_the_tool_is_the_tools_unless_it_is_ours() {
    let s = run("-t icount2 -o file -spmsec 5 --deep 3 x -- app -- y");
    assert_eq!(s.tool_options(), ["-o", "file", "--deep", "3", "x"]);
    assert_eq!(s.slice_length, length(5));
    assert_eq!(s.app, ["app", "--", "y"]);
}

#[test]
fn each_tool_has_its_options_behind_it() {
    let s = run("-t icount2 -o a -sp 1 --tool=other -o b -t icount2 -- app -t x");
    let words = ["icount2", "-o", "a", "-t", "other", "-o", "b", "-t", "icount2"];
    assert_eq!(
        (s.tool_words(), s.tool_names().as_str()),
        (words.map(OsString::from).to_vec(), "icount2, other, icount2")
    );
    assert_eq!(s.app, ["app", "-t", "x"]);
    assert!(parse_text("-check-tool 1 -t icount2 -t icount2 -- app").unwrap_err().contains("one tool"));
    let Ok(Request::Print(help)) = parse_text("-t other -t icount2 --help") else { panic!("no help") };
    assert_eq!(help, "icount2 help");
}

#[test]
fn what_is_kept_needs_the_same_addresses() {
    let s = run("-persist /tmp/x -t icount2 -v -- app");
    assert_eq!((s.persist, s.tool_identity.as_str()), (Some("/tmp/x".into()), "[\"-v\"]"));
    for other in ["-aslr 1", "-share 0"] {
        assert!(parse_text(&format!("-persist x {other} -t icount2 -- app")).unwrap_err().contains("-persist"));
    }
}

#[test]
fn two_dashes_and_equal_signs_work_too() {
    let s = run("--sp=1 -spmsec=7 -t icount2 -- app");
    assert!(s.sliced);
    assert_eq!(s.slice_length, length(7));
}

#[test]
fn errors_say_what_to_do() {
    assert!(parse_text("-sp 1 -- ls").unwrap_err().contains("-t"));
    assert!(parse_text("-t icount2").unwrap_err().contains("after `--`"));
    let bad = parse_text("-sp 2 -t icount2 -- ls").unwrap_err();
    assert!(bad.contains("'-sp <0|1>'") && !bad.contains("--sp"), "{bad}");
    assert!(parse_text("-spmp 0 -t icount2 -- ls").is_err());
    assert!(parse_text("-bogus 1 -t icount2 -- ls").unwrap_err().contains("`-bogus`"));
    assert!(parse_text("-o x -t icount2 -- ls").unwrap_err().contains("after -t"));
}

#[test]
fn help_is_spelled_as_typed() {
    let Ok(Request::Print(help)) = parse_text("--help") else { panic!("no help") };
    assert!(help.contains("-spmsec <MS|auto>") && !help.contains("--spmsec"), "{help}");
    assert!(matches!(parse_text("-t help"), Ok(Request::Print(list)) if list.contains("icount2")));
    assert!(matches!(parse_text("-t icount2 --help"), Ok(Request::Print(text)) if text == "icount2 help"));
}
