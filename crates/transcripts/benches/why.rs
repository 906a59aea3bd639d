//! Speed and memory of `why` over many sessions, compared with `wc -l` over the same files.
//!
//! ```text
//! cargo bench -p foreword-transcripts --bench why -- [--quick] [tenth]
//! ```
//!
//! `tenth` takes a tenth of the sessions, for machines without 5 GB to spare.

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use instructions::{FOREWORD, FileSettings, HomeDirectories};
use measure::{
    BenchArguments, Effort, Machine, ResidentMemory, Table, show_bytes, show_count, show_ratio, show_time,
};
use serde_json::json;
use transcripts::{AGENTS, Homes, SessionChoice, WhyRequest, why};

/// First argument of a child process that asks once.
const MODE: &str = "once";
const RULE: &str = "Use pnpm, never npm.";
const INSTRUCTIONS: &str = "# Shop\n\n- Use pnpm, never npm.\n- Money is integer cents.\n";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, directory] = words.as_slice()
        && mode == MODE
    {
        return once(Path::new(directory));
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    let full = if arguments.ask_for("all") { 1_000 } else { 100 };
    measure(arguments.effort, full)
}

fn measure(effort: Effort, full: usize) -> anyhow::Result<()> {
    let sessions: usize = effort.choose(4, full);
    let bytes: u64 = effort.choose(200_000, 5_000_000);
    let directory = tempfile::tempdir()?;
    let root = directory.path().join("repo");
    fs::create_dir_all(root.join(".git"))?;
    fs::write(root.join("AGENTS.md"), INSTRUCTIONS)?;
    let mut total = 0;
    for number in 0..sessions {
        total += session(directory.path(), &root, number, bytes)?;
    }
    println!("## {} sessions, {}\n", show_count(sessions as u64), show_bytes(total));
    // Both read the files once before, so that neither is the one to fill the system's cache.
    let lines = || count_lines(directory.path());
    lines()?;
    let bare = lines()?;
    let first = ask(directory.path())?;
    let later = ask(directory.path())?;
    let mut table = Table::new(["", "time", "MB/s", "ratio", "peak memory"]);
    for (name, (time, peak)) in
        [("wc -l", (bare, 0)), ("why, first run", first), ("why, with the index", later)]
    {
        table.row([
            name.to_owned(),
            show_time(time),
            format!("{:.0}", total as f64 / 1e6 / time.as_secs_f64()),
            show_ratio(time.as_secs_f64() / bare.as_secs_f64()),
            if peak == 0 { "-".to_owned() } else { show_bytes(peak) },
        ]);
    }
    println!("{table}");
    Ok(())
}

/// Writes a session with tool results of the usual sizes, half by Codex and half by Claude Code. Returns its size.
fn session(directory: &Path, root: &Path, number: usize, bytes: u64) -> anyhow::Result<u64> {
    let is_codex = number.is_multiple_of(2);
    let id = format!("{number:08}-0000-4000-8000-000000000000");
    let path = if is_codex {
        directory.join(".codex/sessions/2026/11/17").join(format!("rollout-2026-11-17T00-00-00-{id}.jsonl"))
    } else {
        directory.join(".claude/projects/-repo").join(format!("{id}.jsonl"))
    };
    fs::create_dir_all(path.parent().context("a session has a directory")?)?;
    let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
    let at = "2026-11-17T21:30:51.360Z";
    let output = "    at compute (src/billing/total.rs:12) \"quoted\" and more text of a log\n".repeat(120);
    let mut written = 0;
    let mut add = |value: serde_json::Value| -> anyhow::Result<()> {
        let line = format!("{value}\n");
        written += line.len() as u64;
        Ok(file.write_all(line.as_bytes())?)
    };
    let block = format!("# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>\n{INSTRUCTIONS}\n</INSTRUCTIONS>");
    if is_codex {
        add(
            json!({ "timestamp": at, "type": "session_meta", "payload": { "id": id, "cwd": root, "cli_version": "0.166.0" } }),
        )?;
        add(
            json!({ "timestamp": at, "type": "response_item", "payload": { "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": block }] } }),
        )?;
    } else {
        add(
            json!({ "type": "user", "uuid": "u", "timestamp": at, "cwd": root, "sessionId": id, "version": "2.1.325",
            "message": { "role": "user", "content": "Begin." } }),
        )?;
        add(json!({ "type": "attachment", "uuid": "a", "timestamp": at, "cwd": root, "sessionId": id,
            "attachment": { "type": "instructions", "files": [{ "path": root.join("AGENTS.md"), "content": INSTRUCTIONS }] } }))?;
    }
    let mut call = 0_u64;
    while {
        call += 1;
        written_of(&mut add, is_codex, &id, root, at, &output, call)?;
        call * (output.len() as u64) < bytes
    } {}
    file.flush()?;
    Ok(written)
}

fn written_of(
    add: &mut impl FnMut(serde_json::Value) -> anyhow::Result<()>,
    is_codex: bool,
    id: &str,
    root: &Path,
    at: &str,
    output: &str,
    call: u64,
) -> anyhow::Result<()> {
    let call_id = format!("call_{call}");
    if is_codex {
        add(
            json!({ "timestamp": at, "type": "response_item", "payload": { "type": "function_call", "name": "exec_command",
            "arguments": "{\"cmd\":\"cargo test\"}", "call_id": call_id } }),
        )?;
        add(json!({ "timestamp": at, "type": "response_item", "payload": { "type": "function_call_output",
            "call_id": call_id, "output": output } }))
    } else {
        add(json!({ "type": "assistant", "uuid": call_id, "timestamp": at, "cwd": root, "sessionId": id,
            "message": { "id": call_id, "role": "assistant", "content": [{ "type": "tool_use", "id": call_id, "name": "Bash",
                "input": { "command": "cargo test" } }], "usage": { "input_tokens": call * 100 } } }))?;
        add(json!({ "type": "user", "uuid": call_id, "timestamp": at, "cwd": root, "sessionId": id,
            "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": call_id, "content": output }] } }))
    }
}

fn count_lines(directory: &Path) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let counted = Command::new("sh")
        .current_dir(directory)
        .args(["-c", "find .codex .claude -name '*.jsonl' -print0 | xargs -0 wc -l | tail -n 1"])
        .output()?;
    ensure!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    Ok(start.elapsed())
}

/// Asks in a process of its own, because the peak memory of a process never falls.
fn ask(directory: &Path) -> anyhow::Result<(Duration, u64)> {
    let output = Command::new(std::env::current_exe()?).arg(MODE).arg(directory).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let words = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = words.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [nanoseconds, peak] = numbers[..] else { anyhow::bail!("unexpected output {words:?}") };
    Ok((Duration::from_nanos(nanoseconds), peak))
}

fn once(directory: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let agents = HomeDirectories::find(Some(directory.to_owned()), |_| None);
    let settings = FileSettings { homes: agents.clone(), ..FileSettings::of(&FOREWORD) };
    let homes = Homes { agents, data: None };
    let answer = why(&WhyRequest {
        rule: RULE,
        cwd: &directory.join("repo"),
        agents: AGENTS,
        sessions: SessionChoice::NewestOfEach,
        search: None,
        since: None,
        homes: &homes,
        settings: &settings,
        cache: Some(&directory.join("cache")),
    })?;
    ensure!(answer.report.sessions.len() == 2, "one session of each agent is judged");
    let time = start.elapsed();
    println!("{} {}", time.as_nanos(), ResidentMemory::own().peak()?);
    Ok(())
}
