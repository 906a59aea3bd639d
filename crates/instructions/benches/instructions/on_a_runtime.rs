//! Codex's algorithm, written directly: every probe is a future, and those of one step run concurrently on a
//! runtime.

use std::path::{Path, PathBuf};

use measure::tokio;
use measure::tokio::task::JoinSet;

use crate::fixture::Project;

/// Finds the root, probes every name of every directory concurrently, reads the files, and joins the text.
pub(crate) async fn resolve(project: &Project) -> anyhow::Result<String> {
    let cwd = project.request().cwd.to_owned();
    let ancestors: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
    let marked = all(ancestors.iter().map(|directory| exists(directory.join(".git")))).await?;
    let root = ancestors.iter().zip(marked).find_map(|(directory, marked)| marked.then_some(directory));
    let root = root.unwrap_or(&cwd);
    let mut directories: Vec<&Path> = cwd.ancestors().take_while(|it| it.starts_with(root)).collect();
    directories.reverse();
    let names = ["AGENTS.override.md", "AGENTS.md"];
    let candidates: Vec<PathBuf> =
        directories.iter().flat_map(|directory| names.map(|name| directory.join(name))).collect();
    let found = all(candidates.iter().cloned().map(exists)).await?;
    let chosen: Vec<&PathBuf> = candidates
        .chunks(names.len())
        .zip(found.chunks(names.len()))
        .filter_map(|(paths, found)| paths.iter().zip(found).find_map(|(path, there)| there.then_some(path)))
        .collect();
    let mut text = String::new();
    for path in chosen {
        text.push_str(&String::from_utf8_lossy(&tokio::fs::read(path).await?));
        text.push_str("\n\n");
    }
    Ok(text)
}

async fn exists(path: PathBuf) -> bool {
    tokio::fs::metadata(path).await.is_ok()
}

/// Runs futures concurrently. Results are in the order of the futures.
async fn all(
    questions: impl Iterator<Item = impl Future<Output = bool> + Send + 'static>,
) -> anyhow::Result<Vec<bool>> {
    let mut running = JoinSet::new();
    for (index, question) in questions.enumerate() {
        running.spawn(async move { (index, question.await) });
    }
    let mut answers = vec![false; running.len()];
    while let Some(answer) = running.join_next().await {
        let (index, answer) = answer?;
        answers[index] = answer;
    }
    Ok(answers)
}
