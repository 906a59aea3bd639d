//! Tests of the home directory's files: created if absent, never changed, read within bounds.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use prompt::{
    BootstrapError, BootstrapFiles, PromptBudgets, PromptCompileInput, PromptDiagnosticCode, compile_prompt,
    create_bootstrap_files,
};

#[test]
fn absent_files_are_created_and_existing_ones_kept() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let home = directory.path().join("new/home");
    assert_eq!(create_bootstrap_files(&home)?, [home.join("SOUL.md"), home.join("IDENTITY.md")]);
    fs::write(home.join("SOUL.md"), "")?;
    fs::write(home.join("IDENTITY.md"), "mine")?;
    assert!(create_bootstrap_files(&home)?.is_empty());
    assert_eq!(fs::read_to_string(home.join("SOUL.md"))?, "", "also an empty one");
    assert_eq!(fs::read_to_string(home.join("IDENTITY.md"))?, "mine");
    assert_eq!(fs::read_dir(&home)?.count(), 2, "nothing is left over, and USER.md is the user's to make");
    fs::remove_file(home.join("SOUL.md"))?;
    symlink("nowhere", home.join("SOUL.md"))?;
    assert!(create_bootstrap_files(&home)?.is_empty());
    assert!(!home.join("nowhere").exists());
    Ok(())
}

#[test]
fn directory_with_the_name_of_a_file_is_an_error() -> anyhow::Result<()> {
    for name in ["SOUL.md", "IDENTITY.md", "USER.md"] {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join(name))?;
        let error = create_bootstrap_files(directory.path()).err();
        assert!(
            matches!(&error, Some(BootstrapError::IsADirectory { path }) if path.ends_with(name)),
            "{error:?}"
        );
    }
    Ok(())
}

// The budgets are settings, so a user can make them absurd. A prompt must still not carry a gigabyte.
#[test]
fn absurd_budgets_do_not_admit_a_gigabyte() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    // A sparse file: a gigabyte long without using disk space.
    fs::File::create(directory.path().join("SOUL.md"))?.set_len(1 << 30)?;
    let limits =
        PromptBudgets { bootstrap_file: usize::MAX, bootstrap_total: usize::MAX, ..PromptBudgets::default() };
    let bootstrap = BootstrapFiles::read(directory.path(), &limits);
    let compiled = compile_prompt(&PromptCompileInput { bootstrap, limits, ..PromptCompileInput::default() });
    assert!(compiled.full_text.len() < 16 << 20);
    assert!(compiled.stable_text.contains(" of more than 4194304 characters shown]"));
    Ok(())
}

#[test]
fn home_directory_that_is_a_file_is_an_error() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let home = directory.path().join("home");
    fs::write(&home, "")?;
    let error = create_bootstrap_files(&home).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.starts_with(&format!("cannot write {}:", home.display())), "{error}");
    Ok(())
}

#[test]
fn concurrent_gateways_create_each_file_once() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let created: usize = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| create_bootstrap_files(directory.path()).map(|made| made.len())))
            .collect();
        starts.into_iter().filter_map(|start| start.join().ok()?.ok()).sum()
    });
    assert_eq!(created, 2);
    assert!(fs::read_to_string(directory.path().join("SOUL.md"))?.starts_with("# Soul"));
    Ok(())
}

#[test]
fn missing_and_unreadable_files_are_diagnosed() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let home = directory.path();
    let read = || BootstrapFiles::read(home, &PromptBudgets::default());
    let codes = |files: &BootstrapFiles| files.diagnostics.iter().map(|it| it.code).collect::<Vec<_>>();
    assert_eq!(codes(&read()), [PromptDiagnosticCode::MissingFile; 2], "USER.md may be missing");

    fs::write(home.join("SOUL.md"), b"\xef\xbb\xbfbad \xff byte")?;
    // Opening a pipe without a writer would block forever if the file type were not checked.
    Command::new("mkfifo").arg(home.join("IDENTITY.md")).status()?;
    fs::create_dir(home.join("USER.md"))?;
    let files = read();
    assert_eq!(codes(&files), [PromptDiagnosticCode::FileReadError; 3]);
    assert_eq!(files.files.len(), 1);
    assert_eq!(files.files[0].text, "bad \u{fffd} byte");
    Ok(())
}

#[test]
fn large_file_is_read_only_up_to_its_budget() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("USER.md");
    fs::write(&path, "é".repeat(40_000))?;
    // A sparse file of a gibibyte: reading it whole would make the test fail by its time and memory.
    fs::File::options().write(true).open(&path)?.set_len(1 << 30)?;
    let bootstrap = BootstrapFiles::read(directory.path(), &PromptBudgets::default());
    let file = &bootstrap.files[0];
    assert!(file.longer && file.text.len() <= 80_004);
    let input = PromptCompileInput { bootstrap, ..PromptCompileInput::default() };
    let compiled = compile_prompt(&input);
    let section = compiled.manifest.sections.last().map(|section| (section.id.as_str(), section.truncated));
    assert_eq!(section, Some(("user_persona", true)));
    assert!(compiled.manifest.diagnostics.iter().any(|it| it.code == PromptDiagnosticCode::FileTruncated));
    assert!(compiled.stable_text.ends_with(" of more than 40004 characters shown]"), "its size is not known");
    Ok(())
}

#[test]
fn zero_byte_is_replaced() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("USER.md"), "zero \0 byte")?;
    let limits =
        PromptBudgets { bootstrap_file: usize::MAX, bootstrap_total: usize::MAX, ..PromptBudgets::default() };
    let bootstrap = BootstrapFiles::read(directory.path(), &limits);
    let compiled = compile_prompt(&PromptCompileInput { bootstrap, limits, ..PromptCompileInput::default() });
    assert!(compiled.stable_text.ends_with("## User Persona\nzero \u{fffd} byte"));
    let codes: Vec<_> = compiled.manifest.diagnostics.iter().map(|it| it.code).collect();
    assert!(codes.contains(&PromptDiagnosticCode::UnsafeText), "{codes:?}");
    Ok(())
}

#[test]
fn trailing_blank_lines_do_not_reach_the_prompt() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let compiled = |text: &str| -> anyhow::Result<prompt::CompiledPrompt> {
        for name in ["SOUL.md", "IDENTITY.md", "USER.md"] {
            fs::write(directory.path().join(name), text)?;
        }
        let bootstrap = BootstrapFiles::read(directory.path(), &PromptBudgets::default());
        Ok(compile_prompt(&PromptCompileInput { bootstrap, ..PromptCompileInput::default() }))
    };
    let plain = compiled("\n  - First.\n\n- Second.")?;
    assert!(
        plain.stable_text.ends_with("## User Persona\n\n  - First.\n\n- Second."),
        "{}",
        plain.stable_text
    );
    for end in ["\n", "\n\n\n", "\r\n \r\n\t\n"] {
        assert_eq!(
            compiled(&format!("\n  - First.\n\n- Second.{end}"))?.stable_text,
            plain.stable_text,
            "{end:?}"
        );
    }
    assert!(!compiled("\n \n")?.stable_text.contains("User Persona"));
    Ok(())
}
