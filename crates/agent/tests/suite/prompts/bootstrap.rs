//! Files of the home directory in unusual states.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fixture::{World, codes, section};

#[tokio::test]
async fn an_unreadable_file_is_left_out_with_a_diagnostic() {
    let world = World::new().await;
    let soul = world.path("home/SOUL.md");
    let spoil: [(&str, &dyn Fn()); 4] = [
        ("missing_file", &|| {}),
        ("file_read_error", &|| fs::create_dir(&soul).unwrap()),
        ("file_read_error", &|| {
            fs::remove_dir(&soul).unwrap();
            symlink("SOUL.md", &soul).unwrap();
        }),
        ("file_read_error", &|| {
            fs::remove_file(&soul).unwrap();
            assert!(Command::new("mkfifo").arg(&soul).status().unwrap().success());
        }),
    ];
    fs::remove_file(&soul).unwrap();
    for (code, spoil) in spoil {
        spoil();
        // Opening a pipe without a writer blocks forever, so the time limit is what the last case checks.
        let prompt = tokio::time::timeout(Duration::from_secs(10), world.prompt());
        let compiled = prompt.await.unwrap().unwrap();
        assert_eq!(codes(&compiled.manifest, "soul_core"), [code]);
        assert_eq!(section(&compiled, "soul_core"), None);
        assert!(section(&compiled, "identity_core").is_some(), "the others are still there");
        let said = compiled.manifest.diagnostics.iter().find(|it| it.file.is_some()).unwrap();
        assert!(said.file.as_deref().unwrap().ends_with("SOUL.md"));
    }
}

#[tokio::test]
async fn invalid_and_zero_bytes_are_visible_and_storable() {
    let world = World::new().await;
    world.write("home/SOUL.md", b"\xef\xbb\xbfa \xff b \xc3 c \0 d");
    world.write("repo/AGENTS.md", b"zero \0 byte, bad \xff byte");
    let agent = world.agent();
    let (turn, compiled) = world.keep(&agent).await;
    let soul = section(&compiled, "soul_core").unwrap();
    assert!(soul.starts_with("## Soul Core\na \u{fffd} b \u{fffd} c \u{fffd} d"), "{soul}");
    assert_eq!(codes(&compiled.manifest, "soul_core"), ["file_read_error", "unsafe_text"]);
    assert!(compiled.session_text.contains("zero \u{fffd} byte"));
    assert_eq!(codes(&compiled.manifest, "agents_context"), ["file_read_error", "unsafe_text"]);
    let manifest = agent.manifest(&world.workspace, &turn, None).await.unwrap();
    let rebuilt = agent.rebuild(&world.workspace, &manifest).await.unwrap();
    assert_eq!(rebuilt.full_text, compiled.full_text);
}

#[tokio::test]
async fn only_the_usable_part_of_a_gigabyte_is_read() {
    let world = World::new().await;
    for name in ["SOUL.md", "USER.md"] {
        let path = world.path("home").join(name);
        // Two-byte characters reveal a limit that counts bytes where characters are meant.
        fs::write(&path, "é\n".repeat(40_000)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    }
    let begun = Instant::now();
    let compiled = world.prompt().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    for id in ["soul_core", "user_persona"] {
        assert_eq!(codes(&compiled.manifest, id), ["file_truncated"]);
        let chars = section(&compiled, id).unwrap().chars().count();
        assert!((15_000..20_300).contains(&chars), "{chars}");
    }
}

// Renaming another file into place must never put half of each into a prompt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_file_is_never_read_half() {
    let world = World::new().await;
    let texts = ["one\n".repeat(4_000), "two\n".repeat(4_500)];
    let soul = world.path("home/SOUL.md");
    let next = world.path("home/next");
    fs::write(&soul, &texts[0]).unwrap();
    let agent = world.agent();
    let request = world.thread().await;
    let ended = AtomicBool::new(false);
    let prepared = std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in texts.iter().cycle().take_while(|_| !ended.load(Ordering::Relaxed)) {
                fs::write(&next, text).unwrap();
                fs::rename(&next, &soul).unwrap();
            }
        });
        let prepared = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut prepared = Vec::new();
                for _ in 0..40 {
                    prepared.push(agent.prepare(&request).await);
                }
                prepared
            })
        });
        ended.store(true, Ordering::Relaxed);
        prepared
    });
    for prepared in prepared {
        let compiled = prepared.unwrap().compiled;
        let soul = section(&compiled, "soul_core").unwrap();
        let is = |text: &str| soul.strip_prefix("## Soul Core\n").unwrap() == text.trim_end();
        assert!(is(&texts[0]) || is(&texts[1]), "{soul:.40}");
    }
}
