//! Counts the system calls of a resolution with strace. Skipped if it is not installed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use instructions::{
    CODELIA, CODEX, Cache, FOREWORD, FileSettings, HomeDirectories, Profile, Request, resolve,
};
use measure::SystemCalls;
use measure::system_calls::{begin_part, end_part};

/// Argument that makes this program the traced one.
const WATCHED: &str = "FOREWORD_TEST_WATCHED_DIRECTORY";
const DEPTH: usize = 8;

#[test]
fn a_warm_resolution_stats_each_directory_and_file_once() -> anyhow::Result<()> {
    if let Some(directory) = std::env::var_os(WATCHED) {
        return be_watched(Path::new(&directory));
    }
    if !SystemCalls::can_be_counted() {
        // Other tools cannot count them.
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    lay_out(directory.path())?;
    let mut again = Command::new(std::env::current_exe()?);
    // The test runs itself a second time under strace, so that only the calls of its own process are counted.
    again.args(["--exact", "a_warm_resolution_stats_each_directory_and_file_once"]);
    let parts = SystemCalls::count(again.env(WATCHED, directory.path()))?;
    for profile in [&FOREWORD, &CODEX, &CODELIA] {
        let cold = &parts[&format!("{}-cold", profile.name)];
        let warm = &parts[&format!("{}-warm", profile.name)];
        // The root and eight directories below it, with a file in each.
        let project = 2 * (DEPTH + 1);
        // The user's own directory, the file in it, and the settings of Codex.
        let home = match profile.name {
            "foreword" => 2,
            "codex" => 3,
            _ => 0,
        };
        assert_eq!(warm.stats(), project + home, "{}: {warm}", profile.name);
        assert_eq!((warm.opens(), warm.of(&["read"])), (0, 0), "{}: {warm}", profile.name);
        // A file costs one open, one read and one close. An absent name costs one open.
        let files = DEPTH + 1 + usize::from(profile.choose.home.is_some());
        assert!(cold.of(&["read"]) <= files + 1, "{}: {cold}", profile.name);
        let names =
            profile.main_names().count() + profile.names_with(instructions::profile::NameRole::Added).count();
        let opens = names * (DEPTH + 1) + profile.choose.home.map_or(0, |home| home.names.len()) + 2;
        assert!(cold.opens() <= opens, "{}: {cold}", profile.name);
    }
    Ok(())
}

fn lay_out(directory: &Path) -> anyhow::Result<()> {
    let mut at = directory.join("project");
    fs::create_dir_all(at.join(".git"))?;
    fs::write(at.join("AGENTS.md"), "text\n")?;
    for level in 0..DEPTH {
        at.push(level.to_string());
        fs::create_dir(&at)?;
        fs::write(at.join("AGENTS.md"), "text\n")?;
    }
    fs::create_dir(directory.join("home"))?;
    fs::write(directory.join("home/AGENTS.md"), "mine\n")?;
    fs::write(directory.join("home/config.toml"), "")?;
    // The cache trusts only what has been unchanged for two seconds, so the warm resolution would otherwise read again.
    std::thread::sleep(Duration::from_millis(2_100));
    Ok(())
}

fn be_watched(directory: &Path) -> anyhow::Result<()> {
    let home = directory.join("home");
    let homes = HomeDirectories::default().with(&FOREWORD, &home).with(&CODEX, &home);
    let cwd = (0..DEPTH).fold(directory.join("project"), |at, level| at.join(level.to_string()));
    for profile in [&FOREWORD, &CODEX, &CODELIA] as [&'static Profile; 3] {
        let settings = FileSettings { homes: homes.clone(), ..FileSettings::of(profile) };
        let request = Request { cwd: &cwd, settings: &settings };
        let cache = Cache::new();
        begin_part(&format!("{}-cold", profile.name));
        resolve(&request, None)?;
        end_part();
        resolve(&request, Some(&cache))?;
        begin_part(&format!("{}-warm", profile.name));
        resolve(&request, Some(&cache))?;
        end_part();
    }
    Ok(())
}
