//! Tests of `read_file`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use instructions::Reminder;
use serde_json::json;

use crate::bench::bench;

#[tokio::test]
async fn lines_are_read_unchanged() {
    let bench = bench(&[("file", "one\r\ntwo\n\nfour"), ("ended", "one\n"), ("empty", "")]);
    for (arguments, text) in [
        (json!({ "path": "file" }), "one\r\ntwo\n\nfour"),
        (json!({ "path": bench.path("file") }), "one\r\ntwo\n\nfour"),
        (json!({ "path": "./file", "offset": 1 }), "one\r\ntwo\n\nfour"),
        (json!({ "path": "file", "limit": 1 }), "one\r\n"),
        (json!({ "path": "file", "offset": 2, "limit": 2 }), "two\n\n"),
        (json!({ "path": "file", "offset": 4 }), "four"),
        (json!({ "path": "file", "offset": 3, "limit": 99 }), "\nfour"),
        (json!({ "path": "empty" }), "[foreword: the file is empty]\n"),
    ] {
        let output = bench.call("read_file", arguments.clone()).await;
        assert_eq!(output.text, text, "{arguments}");
        assert!(output.reminders.is_empty(), "{arguments}");
    }
    for (path, offset, error) in [
        ("file", 5, "file has 4 lines; offset 5 is past its end"),
        ("ended", 2, "ended has 1 line; offset 2 is past its end"),
        ("empty", 2, "empty has 0 lines; offset 2 is past its end"),
    ] {
        assert_eq!(bench.error("read_file", json!({ "path": path, "offset": offset })).await, error);
    }
}

#[tokio::test]
async fn long_file_is_read_in_parts() {
    let text: String = (1..=5000).map(|line| format!("line {line}\n")).collect();
    let bench = bench(&[("file", &text)]).limits(|limits| limits.output_chars = 1000);
    let mut offset = 1;
    let mut read = String::new();
    let mut calls = 0;
    loop {
        let output = bench.call("read_file", json!({ "path": "file", "offset": offset })).await;
        read.push_str(&output.text);
        calls += 1;
        let Some(Reminder::ToolOutputTrimmed { removed_bytes, removed_lines, remedy }) =
            output.reminders.first()
        else {
            break;
        };
        assert_eq!(*removed_bytes as usize, text.len() - read.len());
        assert_eq!(*removed_lines as usize, text[read.len()..].lines().count());
        offset = read.lines().count() + 1;
        assert_eq!(*remedy, format!("Read on with offset {offset}."));
    }
    assert_eq!(read, text);
    assert!(calls > 40);
}

#[tokio::test]
async fn overlong_line_is_cut() {
    let text = format!("first\n{}\nlast\n", "ä".repeat(5000));
    let bench = bench(&[("file", &text)]).limits(|limits| limits.output_chars = 1000);
    let output = bench.call("read_file", json!({ "path": "file" })).await;
    assert_eq!(output.text.chars().count(), 1000);
    let Reminder::ToolOutputTrimmed { remedy, .. } = &output.reminders[0] else { panic!("{output:?}") };
    assert_eq!(
        remedy,
        "Line 2 is longer than what can be shown at once; the lines after it are read with offset 3."
    );
    assert_eq!(bench.text("read_file", json!({ "path": "file", "offset": 3 })).await, "last\n");
}

#[tokio::test]
async fn huge_file_is_not_loaded() {
    let text: String = (1..=2000).map(|line| format!("line {line}\n")).collect();
    let bench = bench(&[("huge", &text)]);
    fs::OpenOptions::new().write(true).open(bench.path("huge")).unwrap().set_len(5 << 30).unwrap();
    let read = bench.text("read_file", json!({ "path": "huge", "offset": 1500, "limit": 2 })).await;
    assert_eq!(read, "line 1500\nline 1501\n");
    // A sparse file: after the text comes a single line of gigabytes of zero bytes.
    let error = bench.error("read_file", json!({ "path": "huge", "offset": 2000 })).await;
    assert!(error.contains("binary data after text, 5368709120 bytes"), "{error}");
    bench.write("zeros", "");
    fs::OpenOptions::new().write(true).open(bench.path("zeros")).unwrap().set_len(5 << 30).unwrap();
    let error = bench.error("read_file", json!({ "path": "zeros" })).await;
    assert_eq!(error, "zeros is not text: binary data, 5368709120 bytes");
    // The requested line is too far behind: the time limit ends the search for it.
    let bench = bench.limits(|limits| limits.file_time = Duration::from_millis(50));
    let error = bench.error("read_file", json!({ "path": "huge", "offset": 3000 })).await;
    assert!(error.contains("not done after 50ms"), "{error}");
}

#[tokio::test]
async fn binary_files_are_rejected() {
    let bench = bench(&[]);
    bench.write("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    assert_eq!(
        bench.error("read_file", json!({ "path": "image" })).await,
        "image is not text: a PNG image, 16 bytes"
    );
    bench.write("latin", b"caf\xe9\nok\n");
    assert_eq!(
        bench.text("read_file", json!({ "path": "latin" })).await,
        "caf\u{fffd}\nok\n[foreword: bytes that are not UTF-8 are shown as \u{fffd}]\n"
    );
}

#[tokio::test]
async fn imitated_tags_are_escaped_before_cutting() {
    let text = "</system-reminder>\n".repeat(100);
    let bench = bench(&[("file", &text)]).limits(|limits| limits.output_chars = 220);
    let output = bench.call("read_file", json!({ "path": "file" })).await;
    let note = "[foreword: tags that look like ours are made visible; edits take the text as it is shown]\n";
    assert_eq!(output.text, "&lt;/system-reminder>\n".repeat(10) + note);
    let [Reminder::ToolOutputTrimmed { removed_bytes, removed_lines, remedy }] = &output.reminders[..] else {
        panic!("{output:?}")
    };
    assert_eq!((*removed_bytes, *removed_lines, &**remedy), (90 * 19, 90, "Read on with offset 11."));
}

#[tokio::test]
async fn unreadable_files_are_explained() {
    let bench = bench(&[("directory/file", ""), ("locked", "x")]);
    assert!(bench.error("read_file", json!({ "path": "gone" })).await.contains("root/gone does not exist"));
    let error = bench.error("read_file", json!({ "path": "directory" })).await;
    assert!(error.contains("is a directory, not a file\nhint: list_dir"), "{error}");
    assert!(bench.error("read_file", json!({ "path": "locked/x" })).await.contains("is not a directory"));
    fs::set_permissions(bench.path("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(bench.path("locked")).is_err() {
        assert!(bench.error("read_file", json!({ "path": "locked" })).await.contains("Permission denied"));
    }
    let long = "x".repeat(5000);
    assert!(bench.error("read_file", json!({ "path": long })).await.contains("too long"));
}
