//! Measures resolving many skills compared with bare `stat` calls on their files.
//!
//! ```text
//! cargo bench -p foreword-skills --bench skills -- [--quick]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::{BenchArguments, Comparison, Machine, Rounds, show_count};
use skills::{Situation, SkillCache, SkillRequest, resolve};

fn main() -> anyhow::Result<()> {
    let arguments = BenchArguments::new(std::env::args().skip(1));
    println!("{}\n", Machine::this());
    let count = arguments.effort.choose(1_000, 10_000);
    let directory = tempfile::tempdir()?;
    let files = create(directory.path(), count)?;
    // Longer than the age from which file times are trusted.
    std::thread::sleep(Duration::from_millis(2_100));
    println!("## {} skills of the user, resolved\n", show_count(count as u64));
    let cache = SkillCache::new();
    let request = SkillRequest::new(directory.path());
    let comparison = Comparison::against("a stat of each SKILL.md", async || {
        for file in &files {
            rustix::fs::stat(file)?;
        }
        Ok(())
    })
    .with("a stat and a read of each", async || {
        for file in &files {
            rustix::fs::stat(file)?;
            std::hint::black_box(fs::read(file)?);
        }
        Ok(())
    })
    .with("resolve, no cache", async || {
        anyhow::ensure!(resolve(&request, None).skills().len() == count);
        Ok(())
    })
    .with("resolve, one cache", async || {
        anyhow::ensure!(resolve(&request, Some(&cache)).skills().len() == count);
        Ok(())
    })
    .with("the same, and what a turn is told", async || {
        let activation = resolve(&request, Some(&cache)).activate(&Situation::default());
        anyhow::ensure!(activation.runtime_text().is_some());
        Ok(())
    });
    let rounds = Rounds { warm_up: 1, measured: arguments.effort.choose(3, 20) };
    let runtime = measure::tokio::runtime::Builder::new_current_thread().build()?;
    println!("{}", runtime.block_on(comparison.run(rounds))?);
    Ok(())
}

fn create(home: &Path, count: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(count);
    for index in 0..count {
        let folder = home.join(format!("skills/skill-{index}"));
        fs::create_dir_all(&folder)?;
        let file = folder.join("SKILL.md");
        let text =
            format!("---\nname: skill-{index}\ndescription: Does the task of number {index}\n---\n# Steps\n");
        fs::write(&file, text + &"Do this, then that.\n".repeat(20))?;
        files.push(file);
    }
    Ok(files)
}
