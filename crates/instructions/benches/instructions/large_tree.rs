//! A tree of 100,000 directories with 1,000 files, resolved for every directory.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use instructions::{Cache, FileSettings, Request, resolve};
use measure::{Effort, ResidentMemory, Table, show_bytes, show_count, show_ratio, show_time};

use crate::fixture::body;

/// Argument that makes this program resolve every directory, in a separate process.
pub(crate) const MODE: &str = "resolve-all";

const CHILDREN: usize = 10;
const DIRECTORIES_PER_FILE: usize = 100;
const WAYS: [&str; 3] = ["stats of the whole chain alone", "resolve, no cache", "resolve, one cache"];

pub(crate) fn measure(effort: Effort) -> anyhow::Result<()> {
    let count = effort.choose(2_000, 100_000);
    let directory = tempfile::tempdir()?;
    create(directory.path(), count)?;
    // The cache does not trust directories that changed within the last two seconds.
    std::thread::sleep(Duration::from_millis(2_100));
    println!(
        "## {} directories with {} files, resolved for every directory\n",
        show_count(count as u64),
        show_count((count / DIRECTORIES_PER_FILE) as u64)
    );
    let mut table = Table::new(["", "time", "directories/s", "ratio", "peak memory", "over its start"]);
    let mut first = None;
    for way in WAYS {
        let output =
            Command::new(std::env::current_exe()?).arg(MODE).arg(directory.path()).arg(way).output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = String::from_utf8(output.stdout)?;
        let numbers: Vec<u64> = words.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [nanoseconds, peak, over] = numbers[..] else { anyhow::bail!("it said {words:?}") };
        let seconds = nanoseconds as f64 / 1e9;
        let first = *first.get_or_insert(seconds);
        table.row([
            way.to_owned(),
            show_time(Duration::from_nanos(nanoseconds)),
            show_count((count as f64 / seconds) as u64),
            show_ratio(seconds / first),
            show_bytes(peak),
            show_bytes(over),
        ]);
    }
    println!("{table}");
    Ok(())
}

/// Breadth first, so that the tree is as flat as ten children a directory make it.
fn create(root: &Path, count: usize) -> anyhow::Result<()> {
    fs::create_dir(root.join(".git"))?;
    let mut waiting = VecDeque::from([root.to_owned()]);
    let mut made = 1;
    fs::write(root.join("AGENTS.md"), body())?;
    while let Some(parent) = waiting.pop_front() {
        for child in 0..CHILDREN {
            if made == count {
                return Ok(());
            }
            let directory = parent.join(format!("directory{child}"));
            fs::create_dir(&directory)?;
            if made % DIRECTORIES_PER_FILE == 0 {
                fs::write(directory.join("AGENTS.md"), body())?;
            }
            made += 1;
            waiting.push_back(directory);
        }
    }
    Ok(())
}

/// Resolves every directory. Prints nanoseconds, peak memory, and its growth since the start.
pub(crate) fn resolve_all(root: &str, way: &str) -> anyhow::Result<()> {
    let root = Path::new(root);
    let directories = list(root)?;
    let settings = FileSettings::default();
    let cache = Cache::new();
    let memory = ResidentMemory::own();
    // Listing the tree needs memory as well, which must not count as that of the resolution.
    memory.reset_peak();
    let before = memory.now()?;
    let started = Instant::now();
    for cwd in &directories {
        if way == WAYS[0] {
            for directory in cwd.ancestors().take_while(|directory| directory.starts_with(root)) {
                std::hint::black_box(rustix::fs::stat(directory)?);
            }
            continue;
        }
        let request = Request { cwd, settings: &settings };
        let cache = (way == WAYS[2]).then_some(&cache);
        anyhow::ensure!(resolve(&request, cache)?.text.is_some(), "the root's file applies everywhere");
    }
    let took = started.elapsed();
    let peak = memory.peak()?;
    println!("{} {peak} {}", took.as_nanos(), peak.saturating_sub(before));
    Ok(())
}

fn list(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut directories = vec![root.to_owned()];
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
                directories.push(entry.path());
            }
        }
        next += 1;
    }
    Ok(directories)
}
