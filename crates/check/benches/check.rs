//! Cost of checking, mapping and comparing a large tree, compared with a bare walk over it.
//!
//! ```text
//! cargo bench -p foreword-check --bench check -- [--quick]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use check::{CheckPolicy, CheckSettings, check};
use compare::{CompareRequest, Map, Names, Tree, effective, is_version_control, walker};
use ignore::WalkState;
use instructions::{FileSettings, PROFILES, Profile};
use measure::{
    BenchArguments, Effort, Machine, ResidentMemory, Samples, Table, show_bytes, show_count, show_ratio,
    show_time,
};
use tokens::Counter;

/// First argument of a child process that runs one measurement once.
const MODE: &str = "once";
const BARE: &str = "bare parallel walk";
const WALK: &str = "walk, with names";
const ONE: &str = "map, one agent";
const ALL: &str = "map, every agent";
const COMPARE: &str = "compare, in the deepest directory";
const CHECK: &str = "check";
const WAYS: [&str; 6] = [BARE, WALK, ONE, ALL, COMPARE, CHECK];

const FILES_PER_DIRECTORY: usize = 10;
const DIRECTORIES_PER_FILE: usize = 100;
const CHILDREN: usize = 10;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, directory, way] = words.as_slice()
        && mode == MODE
    {
        return once(Path::new(directory), way);
    }
    let arguments = BenchArguments::new(words);
    println!("{}\n", Machine::this());
    measure(arguments.effort)
}

fn measure(effort: Effort) -> anyhow::Result<()> {
    let files = effort.choose(2_000, 100_000);
    let rounds = effort.choose(1, 9);
    let directory = tempfile::tempdir()?;
    create(directory.path(), files)?;
    println!("## A tree of {} files\n", show_count(files as u64));
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); WAYS.len()];
    let mut peaks = vec![0_u64; WAYS.len()];
    for _ in 0..rounds {
        // The ways take turns, so that a change of the machine's load affects all of them alike. Each runs in a process
        // of its own, because the peak memory of a process never falls.
        for (index, way) in WAYS.into_iter().enumerate() {
            let output =
                Command::new(std::env::current_exe()?).arg(MODE).arg(directory.path()).arg(way).output()?;
            anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let words = String::from_utf8(output.stdout)?;
            let numbers: Vec<u64> = words.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            let [nanoseconds, peak] = numbers[..] else { anyhow::bail!("it said {words:?}") };
            times[index].push(Duration::from_nanos(nanoseconds));
            peaks[index] = peaks[index].max(peak);
        }
    }
    let mut table = Table::new(["", "median", "files/s", "ratio", "peak memory"]);
    let mut first = None;
    for ((way, times), peak) in WAYS.into_iter().zip(times).zip(peaks) {
        let median = Samples::new(times).median();
        let first = *first.get_or_insert(median.as_secs_f64());
        table.row([
            way.to_owned(),
            show_time(median),
            show_count((files as f64 / median.as_secs_f64()) as u64),
            show_ratio(median.as_secs_f64() / first),
            show_bytes(peak),
        ]);
    }
    println!("{table}");
    Ok(())
}

/// Ten files and at most ten directories in each directory, breadth first. Every hundredth directory has instructions, which
/// name a file that is there and one that is not.
fn create(root: &Path, files: usize) -> anyhow::Result<()> {
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join("AGENTS.md"), "# Rules\n\nRun the tests before you commit.\n".repeat(20))?;
    fs::write(root.join("CLAUDE.md"), "@AGENTS.md\n")?;
    fs::write(root.join(".gitignore"), "target/\nnode_modules/\n*.log\nCLAUDE.local.md\n")?;
    let mut waiting = std::collections::VecDeque::from([root.to_owned()]);
    let mut made = 0;
    let mut directories = 1;
    while let Some(parent) = waiting.pop_front() {
        for file in 0..FILES_PER_DIRECTORY {
            if made == files {
                return Ok(());
            }
            fs::write(parent.join(format!("source{file}.rs")), "")?;
            made += 1;
        }
        for child in 0..CHILDREN {
            if directories * FILES_PER_DIRECTORY >= files {
                break;
            }
            let directory = parent.join(format!("directory{child}"));
            fs::create_dir(&directory)?;
            if directories % DIRECTORIES_PER_FILE == 0 {
                let text = format!("Sources are in `source1.rs` and `old/module{directories}.rs`.\n");
                fs::write(directory.join("AGENTS.md"), text)?;
            }
            directories += 1;
            waiting.push_back(directory);
        }
    }
    Ok(())
}

/// Runs one measurement and prints its nanoseconds and peak memory.
fn once(root: &Path, way: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    match way {
        BARE => {
            let count = AtomicU64::new(0);
            walker(root).build_parallel().run(|| {
                Box::new(|entry| {
                    count.fetch_add(1, Ordering::Relaxed);
                    match entry {
                        Ok(entry) if is_version_control(&entry) => WalkState::Skip,
                        _ => WalkState::Continue,
                    }
                })
            });
            std::hint::black_box(count.into_inner());
        }
        WALK => drop(std::hint::black_box(Tree::walk(root, &Names::new([]))?)),
        ONE => map(root, &PROFILES[..1])?,
        ALL => map(root, PROFILES)?,
        COMPARE => {
            let mut cwd = root.to_owned();
            while cwd.join("directory0").is_dir() {
                cwd.push("directory0");
            }
            let request = CompareRequest {
                cwd: &cwd,
                reading: None,
                agents: PROFILES,
                settings: &FileSettings::default(),
            };
            std::hint::black_box(compare::compare(&request)?);
        }
        _ => {
            let policy = CheckPolicy::new(&CheckSettings::default(), &[])?;
            let report = check(check::CheckRequest { directory: root, config: &Default::default(), policy })?;
            anyhow::ensure!(!report.files.is_empty());
        }
    }
    let took = started.elapsed();
    println!("{} {}", took.as_nanos(), ResidentMemory::own().peak()?);
    Ok(())
}

fn map(root: &Path, profiles: &[&'static Profile]) -> anyhow::Result<()> {
    let tree = Tree::walk(root, &Names::new([]))?;
    let counter = Counter::default();
    for profile in profiles {
        let effective = effective(&tree, &FileSettings::of(profile))?;
        anyhow::ensure!(effective.problems.is_empty(), "every directory can be looked into");
        std::hint::black_box(Map::new(&tree, &effective, &counter, |_| Vec::new()));
    }
    Ok(())
}
