//! Commands about the transcripts of agents.

pub(crate) mod transcript;
pub(crate) mod why;
mod words;

use std::path::PathBuf;

use etcetera::BaseStrategy as _;
use etcetera::base_strategy::choose_native_strategy;
use instructions::FileSettings;
use instructions::Resolution;
use protocol::{Timestamp, similar};
use transcripts::{AGENTS, Homes, TranscriptAgent};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::relative_path::Viewpoint;

/// Returns the named agents, or all of them.
fn named_agents(names: &[String]) -> Result<Vec<TranscriptAgent>, Failure> {
    if names.is_empty() {
        return Ok(AGENTS.to_vec());
    }
    let named = |name: &String| {
        TranscriptAgent::find(name).ok_or_else(|| {
            let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
            let failure = Failure::usage(format!("no transcripts are known of the agent `{name}`"));
            let failure = match similar(name, known.iter().copied()) {
                Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
                None => failure,
            };
            failure.hint(format!("the agents are {}, and `foreword` for threads", known.join(", ")))
        })
    };
    names.iter().map(named).collect()
}

/// Returns the directories in which agents keep their transcripts.
fn homes(settings: &FileSettings) -> Homes {
    // opencode follows the XDG specification on every platform.
    let named = std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let agents = settings.homes.clone();
    let data = named.or_else(|| Some(agents.user()?.join(".local/share")));
    Homes { agents, data }
}

/// Returns the directory of the index. `None` if the platform has none.
fn cache() -> Option<PathBuf> {
    Some(choose_native_strategy().ok()?.cache_dir().join("foreword"))
}

/// Returns hints about recent sessions in a directory that did not have one of its files.
pub(crate) fn missed(settings: &FileSettings, resolution: &Resolution) -> Vec<String> {
    let missed = transcripts::missed_files(resolution, &homes(settings), cache().as_deref());
    let viewpoint = Viewpoint::of(resolution);
    let hint = |missed: transcripts::MissedFile| {
        let at = missed.started_at.map_or_else(String::new, |at| format!(" of {}", minute(at)));
        let title = missed.agent.title();
        let path = viewpoint.path(&missed.path);
        format!(
            "hint: the session{at} in {title} did not have {path}: foreword why {path}:1 --agent {}",
            missed.agent.name()
        )
    };
    missed.into_iter().map(hint).collect()
}

/// Returns a time in minutes.
fn minute(at: Timestamp) -> String {
    at.to_string().chars().take("2026-11-16T14:02".len()).collect::<String>().replace('T', " ")
}

/// Warns about transcripts that could not be read completely.
fn warn(context: &Context, problems: &[String]) {
    const MOST: usize = 5;
    for problem in problems.iter().take(MOST) {
        context.output.warning(problem, None);
    }
    if let Some(more) = problems.len().checked_sub(MOST).filter(|more| *more > 0) {
        context.output.warning(&format!("{more} more transcripts could not be read completely"), None);
    }
}
