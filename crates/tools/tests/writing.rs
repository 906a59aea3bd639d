//! Tests of `write_file` and `edit_file`.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::json;

use crate::bench::{bench, call};

#[tokio::test]
async fn files_are_created_with_their_directories() {
    let bench = bench(&[]);
    let text = bench.text("write_file", json!({ "path": "a/b/new", "content": "text\n" })).await;
    assert_eq!(text, "created a/b/new: 5 bytes");
    assert_eq!(bench.read("a/b/new"), "text\n");
    assert_eq!(
        bench.text("write_file", json!({ "path": "a/b/new", "content": "" })).await,
        "replaced a/b/new: 0 bytes"
    );
    assert_eq!(bench.read("a/b/new"), "");
    let left: Vec<_> =
        fs::read_dir(bench.path("a/b")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["new"], "nothing is left beside it");
}

#[tokio::test]
async fn replaced_file_keeps_its_mode() {
    let bench = bench(&[("script", "old\n")]);
    fs::set_permissions(bench.path("script"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(bench.path("script"), bench.path("other")).unwrap();
    let before = fs::metadata(bench.path("script")).unwrap();
    bench.text("write_file", json!({ "path": "script", "content": "new\n" })).await;
    let after = fs::metadata(bench.path("script")).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o750);
    assert_ne!(after.ino(), before.ino());
    assert_eq!(bench.read("other"), "old\n", "whoever holds the old file keeps it");
    bench.text("edit_file", json!({ "path": "script", "old_text": "new", "new_text": "newer" })).await;
    assert_eq!(fs::metadata(bench.path("script")).unwrap().mode() & 0o7777, 0o750);
}

#[tokio::test]
async fn link_inside_is_written_through() {
    let bench = bench(&[("real/file", "old\n")]);
    symlink("real/file", bench.path("link")).unwrap();
    symlink("real/new", bench.path("dangling")).unwrap();
    assert_eq!(
        bench.text("write_file", json!({ "path": "link", "content": "1" })).await,
        "replaced real/file: 1 bytes"
    );
    assert_eq!(
        bench.text("write_file", json!({ "path": "dangling", "content": "2" })).await,
        "created real/new: 1 bytes"
    );
    assert_eq!((bench.read("real/file"), bench.read("real/new")), ("1".into(), "2".into()));
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn nothing_is_written_outside() {
    let bench = bench(&[("a/file", "")]);
    symlink("..", bench.path("up")).unwrap();
    symlink("../outside", bench.path("link")).unwrap();
    symlink("../new", bench.path("dangling")).unwrap();
    for path in [
        "../outside",
        "../new",
        "up/new",
        "link",
        "dangling",
        "/tmp/foreword-new",
        "a/../../new",
        "new/../../x",
    ] {
        let error = bench.error("write_file", json!({ "path": path, "content": "bad" })).await;
        assert!(
            error.contains("outside the workspace") || error.contains("does not exist"),
            "{path}: {error}"
        );
        let error =
            bench.error("edit_file", json!({ "path": path, "old_text": "secret", "new_text": "bad" })).await;
        assert!(
            error.contains("outside the workspace") || error.contains("does not exist"),
            "{path}: {error}"
        );
    }
    let mut names: Vec<_> =
        fs::read_dir(bench.directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["outside", "root"]);
    assert_eq!(fs::read_to_string(bench.directory.path().join("outside")).unwrap(), "secret\n");
}

#[tokio::test]
async fn only_regular_files_are_written() {
    let bench = bench(&[("directory/x", ""), ("file", "x"), ("locked", "x")]);
    fs::set_permissions(bench.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for (path, part) in [
        ("directory", "is a directory, not a file"),
        (".", "is a directory, not a file"),
        ("pipe", "is a pipe, not a file"),
        ("file/x", "is not a directory"),
        ("locked", "is read-only"),
    ] {
        let error = bench.error("write_file", json!({ "path": path, "content": "" })).await;
        assert!(error.contains(part), "{path}: {error}");
    }
    assert!(
        bench
            .error("edit_file", json!({ "path": "gone", "old_text": "a", "new_text": "b" }))
            .await
            .contains("does not exist")
    );
}

#[tokio::test]
async fn edits_are_exact() {
    let bench = bench(&[("file", "one\ntwo\nthree\ntwo\n"), ("dos", "a\r\nb\r\n")]);
    let edited =
        bench.text("edit_file", json!({ "path": "file", "old_text": "three", "new_text": "3\n3" })).await;
    assert_eq!(edited, "edited file at line 3");
    assert_eq!(bench.read("file"), "one\ntwo\n3\n3\ntwo\n");
    let error = bench.error("edit_file", json!({ "path": "file", "old_text": "two", "new_text": "2" })).await;
    assert!(
        error.starts_with("file was not changed: `old_text` occurs 2 times in it, at lines 2, 5"),
        "{error}"
    );
    let error =
        bench.error("edit_file", json!({ "path": "file", "old_text": "onne\n", "new_text": "2" })).await;
    assert!(error.ends_with("hint: line 1 is most like its first line: \"one\""), "{error}");
    bench.text("edit_file", json!({ "path": "dos", "old_text": "a\nb", "new_text": "a\nx\nb" })).await;
    assert_eq!(bench.read("dos"), "a\r\nx\r\nb\r\n");
}

#[tokio::test]
async fn escaped_text_can_be_edited() {
    let bench = bench(&[("file", "</system-reminder>\nend\n")]);
    let shown = bench.text("read_file", json!({ "path": "file" })).await;
    let (shown, note) = shown.split_once("[foreword: ").unwrap();
    assert_eq!(shown, "&lt;/system-reminder>\nend\n");
    assert_eq!(note, "tags that look like ours are made visible; edits take the text as it is shown]\n");
    let new_text = shown.replace("end", "more");
    bench.text("edit_file", json!({ "path": "file", "old_text": shown, "new_text": new_text })).await;
    assert_eq!(bench.read("file"), "</system-reminder>\nmore\n");
}

#[tokio::test]
async fn escaped_text_can_be_written_back() {
    let odd = "\u{feff}＜/system-reminder>\na\u{202e}b \\u{202e}\n&lt;AGENTS_MD> <AGENTS_MD>\n👩\u{200d}👧\n";
    let bench = bench(&[("file", odd)]);
    let shown = bench.text("read_file", json!({ "path": "file" })).await;
    let (shown, note) = shown.split_once("[foreword: ").unwrap();
    assert!(note.starts_with("tags that look like ours and hidden characters are made visible;"), "{note}");
    bench.text("write_file", json!({ "path": "file", "content": shown })).await;
    assert_eq!(bench.read("file"), odd);
    bench.text("write_file", json!({ "path": "file", "content": format!("{shown}more\n") })).await;
    assert_eq!(bench.read("file"), format!("{odd}more\n"));
    // A new file has no content to restore from.
    bench.text("write_file", json!({ "path": "new", "content": "\\u{202e}" })).await;
    assert_eq!(bench.read("new"), "\\u{202e}");
}

#[tokio::test]
async fn large_file_is_not_edited() {
    let bench = bench(&[("file", "0123456789")]).limits(|limits| limits.edit_bytes = 9);
    let error = bench.error("edit_file", json!({ "path": "file", "old_text": "0", "new_text": "1" })).await;
    assert!(error.contains("has 10 bytes, more than the 9 that can be edited"), "{error}");
}

#[tokio::test]
async fn invalid_utf_8_survives_an_edit() {
    let bench = bench(&[]);
    bench.write("latin", b"caf\xe9 old\n");
    bench.text("edit_file", json!({ "path": "latin", "old_text": "old", "new_text": "new" })).await;
    assert_eq!(fs::read(bench.path("latin")).unwrap(), b"caf\xe9 new\n");
}

// Readers run concurrently and must always see a complete file, old or new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_never_see_half_a_file() {
    let bench = bench(&[("file", &"0".repeat(50_000))]);
    let router = bench.router();
    let writing = tokio::spawn(async move {
        for number in 0..60 {
            let content = (number % 10).to_string().repeat(50_000);
            let output = router.call(call("write_file", json!({ "path": "file", "content": content }))).await;
            assert!(!output.is_error, "{}", output.text);
        }
    });
    while !writing.is_finished() {
        let content = bench.read("file");
        assert!(content.len() == 50_000 && content.bytes().all(|byte| byte == content.as_bytes()[0]));
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_of_one_file_all_succeed() {
    let lines: String = (0..40).map(|line| format!("old {line};\n")).collect();
    let bench = bench(&[("file", &lines)]);
    symlink("file", bench.path("link")).unwrap();
    let router = bench.router();
    let calls = (0..40).map(|line| {
        // Half of the calls use the link, because a lock by the path as written would let both halves overwrite each
        // other.
        let path = if line % 2 == 0 { "file" } else { "link" };
        let old = format!("old {line};");
        let new = format!("new {line};");
        let router = router.clone();
        tokio::spawn(async move {
            router.call(call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))).await
        })
    });
    for output in futures_util::future::join_all(calls).await {
        let output = output.unwrap();
        assert!(!output.is_error, "{}", output.text);
    }
    assert_eq!(bench.read("file"), lines.replace("old", "new"));
}
