//! What checking a large tree costs over a bare walk over it.
//!
//! ```text
//! cargo bench -p foreword-check --bench check -- [--quick]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use check::{CheckSettings, Policy, Request, check};
use ignore::WalkState;
use measure::{Arguments, Comparison, Machine, ResidentMemory, Rounds, show_bytes, show_count};

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::new(std::env::args().skip(1));
    println!("{}\n", Machine::this());
    let directories = arguments.effort.choose(100, 1_000);
    let directory = tempfile::tempdir()?;
    let files = create(directory.path(), directories)?;
    println!("## A tree of {} files\n", show_count(files as u64));
    let root = directory.path();
    let comparison = Comparison::against("a bare parallel walk", async || {
        let count = AtomicUsize::new(0);
        compare::walker(root).build_parallel().run(|| {
            Box::new(|_| {
                count.fetch_add(1, Ordering::Relaxed);
                WalkState::Continue
            })
        });
        anyhow::ensure!(count.into_inner() > files);
        Ok(())
    })
    .with("foreword check", async || {
        let policy = Policy::new(&CheckSettings::default(), &[])?;
        let report = check(Request { directory: root, config: &Default::default(), policy })?;
        anyhow::ensure!(!report.files.is_empty());
        Ok(())
    });
    let rounds = Rounds { warm_up: 1, measured: arguments.effort.choose(3, 15) };
    let runtime = measure::tokio::runtime::Builder::new_current_thread().build()?;
    println!("{}", runtime.block_on(comparison.run(rounds))?);
    println!("peak memory: {}", show_bytes(ResidentMemory::own().peak()?));
    Ok(())
}

/// A hundred files a directory; every fiftieth directory has instructions, which name a file that is there and one that is not.
fn create(root: &Path, directories: usize) -> anyhow::Result<usize> {
    fs::create_dir_all(root.join(".git"))?;
    let mut files = 0;
    for index in 0..directories {
        let directory = root.join(format!("part{}/module{index}", index % 20));
        fs::create_dir_all(&directory)?;
        for file in 0..100 {
            fs::write(directory.join(format!("file{file}.rs")), "")?;
            files += 1;
        }
        if index % 50 == 0 {
            fs::write(
                directory.join("AGENTS.md"),
                format!("Sources are in `module{index}/file1.rs` and `old/module{index}.rs`.\n"),
            )?;
            files += 1;
        }
    }
    fs::write(root.join("AGENTS.md"), "# Rules\n\nRun the tests before you commit.\n".repeat(20))?;
    fs::write(root.join("CLAUDE.md"), "@AGENTS.md\n")?;
    Ok(files + 2)
}
