//! Accuracy of the rule missing-path (FW008) in a folder of checked-out repositories.
//!
//! ```text
//! cargo run -p foreword-check --example missing_paths -- FOLDER
//! ```
//!
//! Prints Markdown: the findings of each repository, and the share of wrong ones. A finding is right or wrong by the
//! judgement of a person, which `verdicts.tsv` records. Findings without a verdict are listed as such and make the command
//! fail, so that no figure hides them. A directory is named `OWNER+NAME@COMMIT`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use check::{CheckPolicy, CheckRequest, CheckSettings, check};

const VERDICTS: &str = include_str!("verdicts.tsv");

/// Repository, file and missing path.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Judgement of a finding.
#[derive(Clone, Copy)]
struct Verdict<'a> {
    is_right: bool,
    reason: &'a str,
}

fn main() -> anyhow::Result<ExitCode> {
    let folder =
        std::env::args_os().nth(1).context("which folder? give one with checked-out repositories")?;
    let mut repositories: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| format!("could not list {}", Path::new(&folder).display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    repositories.sort();
    let verdicts = verdicts()?;
    let (mut right, mut wrong, mut open, mut files, mut quiet) = (0, 0, 0, 0, Vec::new());
    println!("| repository | file | missing path | verdict |\n| --- | --- | --- | --- |");
    for directory in &repositories {
        let directory = fs::canonicalize(directory)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (name, commit) = name.split_once('@').unwrap_or((&name, ""));
        let (name, commit) = (name.replace('+', "/"), commit.to_owned());
        let settings = CheckSettings {
            agents: instructions::PROFILES.iter().map(|agent| agent.name.to_owned()).collect(),
            ..CheckSettings::default()
        };
        let policy = CheckPolicy::new(&settings, &[])?;
        let report = check(CheckRequest { directory: &directory, config: &Default::default(), policy })?;
        files += report.files.len();
        let found = report.findings.iter().filter(|finding| finding.rule().code == "FW008");
        let mut is_quiet = true;
        for finding in found {
            is_quiet = false;
            let file = finding.path.strip_prefix(&directory).unwrap_or(&finding.path).to_string_lossy();
            let missing = finding.message.split('`').nth(1).unwrap_or_default();
            let verdict = match verdicts.get(&(&*name, &*file, missing)) {
                Some(Verdict { is_right: true, reason }) => {
                    right += 1;
                    format!("right: {reason}")
                }
                Some(Verdict { is_right: false, reason }) => {
                    wrong += 1;
                    format!("**wrong**: {reason}")
                }
                None => {
                    open += 1;
                    "not judged".to_owned()
                }
            };
            let line = finding.line.unwrap_or(0);
            println!("| {name} {commit} | {file}:{line} | `{missing}` | {verdict} |");
        }
        if is_quiet {
            quiet.push(format!("{name} {commit}"));
        }
    }
    println!("\nNo findings: {}.", quiet.join(", "));
    let judged = right + wrong;
    let share = 100.0 * f64::from(wrong) / f64::from(judged.max(1));
    println!(
        "\n{} repositories, {files} instruction files: {judged} findings judged, {wrong} of them wrong ({share:.1} %).",
        repositories.len(),
    );
    if open > 0 {
        eprintln!("{open} findings have no verdict in crates/check/examples/missing_paths/verdicts.tsv");
    }
    Ok(if open == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the recorded verdicts.
fn verdicts() -> anyhow::Result<BTreeMap<Key<'static>, Verdict<'static>>> {
    let lines = VERDICTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [repository, file, path, verdict @ ("right" | "wrong"), reason] = fields.as_slice() else {
                anyhow::bail!("verdicts.tsv: a line has five fields: {line}");
            };
            let verdict = Verdict { is_right: *verdict == "right", reason };
            Ok(((*repository, *file, *path), verdict))
        })
        .collect()
}
