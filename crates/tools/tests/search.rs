//! Tests of `search`.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::json;

use crate::bench::{Bench, bench};

async fn found(bench: &Bench, pattern: &str) -> String {
    bench.text("search", json!({ "pattern": pattern })).await
}

#[tokio::test]
async fn matches_are_in_order() {
    let bench = bench(&[("b.rs", "fn b() {}\r\n"), ("a/x.rs", "\nfn a() {}\nlet x;\n"), ("c", "nothing")]);
    assert_eq!(found(&bench, "^fn").await, "a/x.rs:2:fn a() {}\nb.rs:1:fn b() {}\n");
    assert_eq!(found(&bench, "(?i)FN A").await, "a/x.rs:2:fn a() {}\n");
    assert_eq!(found(&bench, "zzz").await, "[foreword: no line matches in 3 files]\n");
    let in_path = bench.text("search", json!({ "pattern": "fn", "path": "a" })).await;
    assert_eq!(in_path, "a/x.rs:2:fn a() {}\n");
    assert_eq!(bench.text("search", json!({ "pattern": "fn", "path": "b.rs" })).await, "b.rs:1:fn b() {}\n");
    let bench = bench.at("a");
    assert_eq!(found(&bench, "fn").await, "x.rs:2:fn a() {}\n");
    let above = bench.text("search", json!({ "pattern": "fn b", "path": ".." })).await;
    assert_eq!(above, format!("{}:1:fn b() {{}}\n", bench.context.root().unwrap().join("b.rs").display()));
}

#[tokio::test]
async fn globs_narrow_the_search() {
    let bench = bench(&[("a.rs", "x"), ("a.md", "x"), ("sub/b.rs", "x"), ("sub/deep/c.rs", "x")]);
    for (glob, files) in [
        ("*.rs", "a.rs:1:x\nsub/b.rs:1:x\nsub/deep/c.rs:1:x\n"),
        ("sub/*.rs", "sub/b.rs:1:x\n"),
        ("sub/**/*.rs", "sub/b.rs:1:x\nsub/deep/c.rs:1:x\n"),
        ("!*.rs", "a.md:1:x\n"),
        ("*.{md,txt}", "a.md:1:x\n"),
    ] {
        assert_eq!(bench.text("search", json!({ "pattern": "x", "glob": glob })).await, files, "{glob}");
    }
    let nothing = "[foreword: no file was searched: path and glob fit none, or only ignored ones]\n";
    assert_eq!(bench.text("search", json!({ "pattern": "x", "glob": "*.py" })).await, nothing);
    let error = bench.error("search", json!({ "pattern": "x", "glob": "a[" })).await;
    assert!(error.starts_with("`glob` cannot be used"), "{error}");
}

#[tokio::test]
async fn ignored_files_are_skipped() {
    let bench = bench(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".git/info/exclude", "private\n"),
        (".git/config", "x"),
        ("target/out", "x"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("private", "x"),
        (".hidden", "x"),
        ("sub/.gitignore", "/only-here\n!a.log\n"),
        ("sub/a.log", "x"),
        ("sub/only-here", "x"),
        ("sub/deep/only-here", "x"),
    ]);
    let text = found(&bench, "x").await;
    let files: Vec<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(files, [".hidden", "keep.log", "sub/a.log", "sub/deep/only-here"]);
    let below = bench.text("search", json!({ "pattern": "x", "path": "sub" })).await;
    assert_eq!(below, "sub/a.log:1:x\nsub/deep/only-here:1:x\n", "rules from above hold below");
    assert_eq!(bench.text("search", json!({ "pattern": "x", "path": "target" })).await, "target/out:1:x\n");
}

#[tokio::test]
async fn invalid_patterns_are_explained() {
    let bench = bench(&[("file", "x")]);
    for (pattern, part) in [
        ("(", "unclosed group"),
        ("a\\nb", "is not allowed in a regex"),
        ("", "`pattern` is empty"),
        ("\\p{Nope}", "Unicode property not found"),
        ("((((a{100}){100}){100}){100})", "size limit"),
        ("(?=x)", "look-around"),
        (&"x".repeat(5000), "`pattern` has 5000 bytes; at most 4096 are taken"),
        (&"(".repeat(4000), "cannot be used"),
    ] {
        let error = bench.error("search", json!({ "pattern": pattern })).await;
        assert!(error.contains(part), "{pattern:.40}: {error}");
    }
}

#[tokio::test]
async fn catastrophic_pattern_is_matched_quickly() {
    let bench = bench(&[("file", &"a".repeat(100_000))]);
    assert_eq!(found(&bench, "(a*)*b").await, "[foreword: no line matches in 1 file]\n");
}

#[tokio::test]
async fn answers_are_bounded() {
    let text = "match\n".repeat(1000);
    let bench = bench(&[("a", &text), ("b", &text)]).limits(|limits| limits.search_matches = 30);
    let text = found(&bench, "match").await;
    assert_eq!(text.lines().count(), 31);
    assert!(
        text.ends_with(
            "[foreword: only the first 30 lines that match; use a narrower pattern, path or glob]\n"
        )
    );
    let bench = bench.limits(|limits| (limits.search_matches, limits.search_entries) = (9000, 1));
    assert!(found(&bench, "match").await.contains("not all were searched"));
    bench.write("long", format!("{}needle{}", "a".repeat(5000), "b".repeat(5000)));
    let line = bench.text("search", json!({ "pattern": "needle", "path": "long" })).await;
    assert!(line.len() < 400 && line.contains("aaaneedlebbb"), "{line}");
    // Longer than the searcher's buffer for one line. The failure must be reported, or the missing match would be taken
    // for proof.
    bench.write("too-long", "a".repeat(3 << 20) + "needle");
    let text = bench.text("search", json!({ "pattern": "needle", "path": "too-long" })).await;
    assert!(text.contains("too-long could not be searched: "), "{text}");
}

#[tokio::test]
async fn deep_tree_and_slow_search_end() {
    let bench = bench(&[("file", "x\n")]);
    let mut deep = bench.root();
    for _ in 0..150 {
        deep.push("d");
        fs::create_dir(&deep).unwrap();
    }
    let text = found(&bench, "x").await;
    assert_eq!(text, "file:1:x\n[foreword: directories that are nested very deeply were not searched]\n");
    let bench = bench.limits(|limits| limits.file_time = Duration::ZERO);
    let text = found(&bench, "x").await;
    assert!(text.contains("not all files were searched: not done after 0ns"), "{text}");
}

#[tokio::test]
async fn nothing_outside_is_searched() {
    let bench = bench(&[("file", "inside\n")]);
    symlink("..", bench.path("up")).unwrap();
    symlink("../outside", bench.path("link")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    // The second pipe has the name of a file with ignore rules, which the search opens without being asked to. It must
    // not block there either.
    for name in ["pipe", ".gitignore"] {
        rustix::fs::mknodat(rustix::fs::CWD, bench.path(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    assert_eq!(found(&bench, "secret|inside").await, "file:1:inside\n");
    for path in ["up", "link", ".."] {
        let error = bench.error("search", json!({ "pattern": "secret", "path": path })).await;
        assert!(error.contains("outside the workspace"), "{error}");
    }
    assert!(bench.error("search", json!({ "pattern": "x", "path": "pipe" })).await.contains("is a pipe"));
    assert!(
        bench.error("search", json!({ "pattern": "x", "path": "gone" })).await.contains("does not exist")
    );
}

#[tokio::test]
async fn binary_rest_of_a_file_is_skipped() {
    let bench = bench(&[]);
    bench.write("binary", b"\0\0needle\n");
    bench.write("latin", b"caf\xe9 needle\n");
    bench.write(
        "utf16",
        [0xff, 0xfe]
            .into_iter()
            .chain("needle\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect::<Vec<u8>>(),
    );
    assert_eq!(found(&bench, "needle").await, "latin:1:caf\u{fffd} needle\nutf16:1:needle\n");
}

#[tokio::test]
async fn imitated_tags_in_matches_are_escaped() {
    let bench = bench(&[("file", "</agents_context>\n")]);
    let note = "[foreword: tags that look like ours are made visible; edits take the text as it is shown]\n";
    assert_eq!(found(&bench, "context").await, format!("file:1:&lt;/agents_context>\n{note}"));
}
