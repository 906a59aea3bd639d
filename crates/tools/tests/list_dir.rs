//! Tests of `list_dir`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::bench::bench;

#[tokio::test]
async fn names_are_sorted_and_marked() {
    let bench = bench(&[("b/x", ""), ("a.txt", ""), (".hidden", ""), ("Z", "")]);
    symlink("b", bench.path("link")).unwrap();
    fs::create_dir(bench.path("empty")).unwrap();
    let listed = ".hidden\nZ\na.txt\nb/\nempty/\nlink -> b\n";
    assert_eq!(bench.text("list_dir", json!({ "path": "." })).await, listed);
    assert_eq!(bench.text("list_dir", json!({ "path": bench.root() })).await, listed);
    assert_eq!(bench.text("list_dir", json!({ "path": "link" })).await, "x\n");
    assert_eq!(
        bench.text("list_dir", json!({ "path": "empty" })).await,
        "[foreword: the directory is empty]\n"
    );
}

#[tokio::test]
async fn listing_a_file_is_an_error() {
    let bench = bench(&[("file", "")]);
    symlink("..", bench.path("up")).unwrap();
    let error = bench.error("list_dir", json!({ "path": "file" })).await;
    assert!(error.contains("is a file, not a directory\nhint: read_file"), "{error}");
    assert!(bench.error("list_dir", json!({ "path": "gone" })).await.contains("does not exist"));
    for path in ["..", "up", "/"] {
        assert!(bench.error("list_dir", json!({ "path": path })).await.contains("outside the workspace"));
    }
}

#[tokio::test]
async fn names_with_line_breaks_stay_on_one_line() {
    let bench = bench(&[("two\nlines", ""), ("<system-reminder>", "")]);
    fs::write(bench.path(OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    let text = bench.text("list_dir", json!({ "path": "." })).await;
    assert!(
        text.starts_with("&lt;system-reminder>\ncaf\u{fffd}\ntwo\\nlines\n[foreword: tags that"),
        "{text}"
    );
}

#[tokio::test]
async fn huge_directory_is_cut() {
    let bench = bench(&[]).limits(|limits| limits.list_entries = 50);
    fs::create_dir(bench.path("huge")).unwrap();
    for number in 0..20_000 {
        fs::File::create(bench.path(format!("huge/{number:05}"))).unwrap();
    }
    let text = bench.text("list_dir", json!({ "path": "huge" })).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[49]), (51, "00000", "00049"));
    assert!(lines[50].starts_with("[foreword: the first 50 of 20000 entries"), "{}", lines[50]);
}
