//! Paths that lead outside, and objects that are not files.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;
use tools::{ContextError, ToolContext};

use crate::bench::bench;

#[tokio::test]
async fn no_path_leads_outside() {
    let bench = bench(&[("a/file", "inside\n")]);
    symlink("../outside", bench.path("link")).unwrap();
    symlink(bench.directory.path(), bench.path("up")).unwrap();
    symlink(bench.directory.path().join("outside"), bench.path("absolute")).unwrap();
    // A magic link of `/proc` is followed by the kernel without resolving a path, which defeats checks that compare
    // resolved texts.
    symlink("/proc/self/root", bench.path("magic")).unwrap();
    let outside = bench.directory.path().join("outside");
    for path in [
        "../outside",
        "a/../../outside",
        "/etc/passwd",
        "link",
        "up/outside",
        "absolute",
        "magic/etc/passwd",
        "..",
        "../root/a/file",
        outside.to_str().unwrap(),
        "/",
    ] {
        let error = bench.error("read_file", json!({ "path": path })).await;
        assert!(error.contains("is outside the workspace"), "{path}: {error}");
        assert!(!error.contains("secret"));
    }
}

#[tokio::test]
async fn links_inside_the_root_are_followed() {
    let bench = bench(&[("a/file", "inside\n")]);
    symlink("a/file", bench.path("link")).unwrap();
    symlink(bench.path("a"), bench.path("absolute")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    assert_eq!(bench.text("read_file", json!({ "path": "link" })).await, "inside\n");
    assert_eq!(bench.text("read_file", json!({ "path": "absolute/file" })).await, "inside\n");
    assert!(bench.error("read_file", json!({ "path": "loop" })).await.contains("symbolic links"));
}

#[tokio::test]
async fn relative_paths_start_at_the_working_directory() {
    let bench = bench(&[("a/b/file", "deep\n"), ("file", "top\n")]).at("a/b");
    assert_eq!(bench.text("read_file", json!({ "path": "file" })).await, "deep\n");
    assert_eq!(bench.text("read_file", json!({ "path": "../../file" })).await, "top\n");
    assert!(
        bench
            .error("read_file", json!({ "path": "../../../outside" }))
            .await
            .contains("outside the workspace")
    );
}

#[tokio::test]
async fn linked_root_is_known_by_both_names() {
    let bench = bench(&[("file", "text\n")]);
    // Users often reach a project through a link, and models repeat whichever of the two paths they have read.
    let alias = bench.directory.path().join("alias");
    symlink(bench.root(), &alias).unwrap();
    let context = ToolContext::open(&alias, &alias).unwrap();
    let router = tools::Router::all(&bench.toolbox, context);
    for path in ["file".into(), alias.join("file"), bench.path("file")] {
        assert_eq!(
            router.call(crate::bench::call("read_file", json!({ "path": path }))).await.text,
            "text\n"
        );
    }
}

#[tokio::test]
async fn pipes_sockets_and_devices_do_not_block() {
    let bench = bench(&[]);
    rustix::fs::mknodat(CWD, bench.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    for (path, kind) in [("pipe", "pipe"), ("socket", "socket")] {
        let reading = bench.error("read_file", json!({ "path": path }));
        let error = tokio::time::timeout(Duration::from_secs(5), reading).await.unwrap();
        assert!(error.contains(&format!("is a {kind}, not a file")), "{error}");
    }
    let device = rustix::fs::makedev(1, 5);
    if rustix::fs::mknodat(
        CWD,
        bench.path("zero"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o600),
        device,
    )
    .is_ok()
    {
        assert!(bench.error("read_file", json!({ "path": "zero" })).await.contains("is a device"));
    }
}

#[test]
fn working_directory_must_be_inside_the_root() {
    let bench = bench(&[("file", "")]);
    symlink("..", bench.path("up")).unwrap();
    for cwd in [
        bench.directory.path().to_owned(),
        bench.path("up"),
        bench.path("file"),
        bench.path("gone"),
        bench.path(".."),
    ] {
        let refused = ToolContext::open(bench.root(), &cwd).unwrap_err();
        assert!(matches!(refused, ContextError::OutsideRoot { .. }), "{}: {refused}", cwd.display());
    }
    let refused = ToolContext::open(bench.path("gone"), bench.path("gone")).unwrap_err();
    assert!(matches!(refused, ContextError::Unusable { .. }));
}

// A directory is repeatedly swapped for a link that leads outside, while files below it are read. Checking a path and
// opening it later would lose this race sooner or later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swapped_directory_never_leads_outside() {
    let bench = bench(&[("real/outside", "inside\n")]);
    let root = bench.root();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = stop.clone();
    symlink("..", root.join("lure")).unwrap();
    let swapping = std::thread::spawn(move || {
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            // `real` is a directory, then a link to the parent of the root, then the directory again.
            fs::rename(root.join("real"), root.join("aside")).unwrap();
            fs::rename(root.join("lure"), root.join("real")).unwrap();
            fs::rename(root.join("real"), root.join("lure")).unwrap();
            fs::rename(root.join("aside"), root.join("real")).unwrap();
        }
    });
    for _ in 0..500 {
        let output = bench.call("read_file", json!({ "path": "real/outside" })).await;
        assert!(!output.text.contains("secret"), "{}", output.text);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapping.join().unwrap();
}
